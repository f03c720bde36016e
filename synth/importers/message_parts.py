"""Message contents of several chat dialects as text; what is not text leaves a note, and masks what
was said after it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.schemas.trajectory import Observation, Turn

_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
UNSEEN_MASK = "after_unseen_content"
"""Mask of turns whose context held an image, a document or a sound: their words may rest on what
the row does not show.
"""
UNREAD_MASK = "unread_block"
"""Mask of turns with blocks that are no text, such as tools that the provider ran within the call.
"""
_UNSEEN = re.compile(r"\[[\w/-]+ left out on import\]")


def text_of(content: Any) -> str:
    """Text, or a list of parts: texts on lines of their own, anything else as `[image left out on
    import]`.

    Null is no text. Raises `ValueError` for what is neither.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise ValueError(f"content is {type(content).__name__}, neither text nor a list of parts")
    return "\n".join(_part(part) for part in content)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise ValueError(f"content part is {type(part).__name__}, no object")
    kind = part.get("type")
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        return str(part["refusal"])
    if kind in _TEXTS and isinstance(part.get("text"), str):
        return str(part["text"])
    return f"[{re.sub(r'[^A-Za-z0-9_-]', '_', str(kind))[:40]} left out on import]"


def mask_after_unseen(opening: Sequence[Observation], turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns, masked from the first on that followed a part which is not text."""
    seen_all = not any(_UNSEEN.search(observation.content) for observation in opening)
    masked = []
    for turn in turns:
        masked.append(
            turn
            if seen_all or turn.mask is not None
            else msgspec.structs.replace(turn, mask=UNSEEN_MASK)
        )
        seen_all = seen_all and not any(
            _UNSEEN.search(observation.content) for observation in turn.observations
        )
    return tuple(masked)
