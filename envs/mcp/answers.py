"""What crosses between an agent and a server: arguments on the way in, results on the way out."""

from collections.abc import Mapping
from typing import Any

from synth.confinement import INSIDE

LONGEST_ANSWER = 50_000
"""Characters of an answer that an agent is shown."""


def depth(value: Any) -> int:
    """How deep lists and objects lie in one another; without recursion, as a model may write any
    depth.
    """

    deep, layer = 0, [value]
    while layer := [
        one
        for each in layer
        if isinstance(each, dict | list)
        for one in (each.values() if isinstance(each, dict) else each)
    ]:
        deep += 1

    return deep


def outside(value: Any, folder: str) -> Any:
    """Arguments with paths below /world as they lie on this machine."""

    if isinstance(value, str) and (value == INSIDE or value.startswith(f"{INSIDE}/")):
        return folder + value.removeprefix(INSIDE)
    if isinstance(value, dict):
        return {name: outside(one, folder) for name, one in value.items()}

    return [outside(one, folder) for one in value] if isinstance(value, list) else value


def read(result: Any) -> tuple[str, bool]:
    """A result's text, and whether the tool calls it an error."""
    plain = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    texts = map(_text_of, plain.get("content", ()))
    return "\n".join(texts) or "(nothing)", bool(plain.get("isError", False))


def _text_of(part: Mapping[str, Any]) -> str:
    held = part.get("resource", {}) if part.get("type") == "resource" else part
    if part.get("type") in ("text", "resource") and "text" in held:
        return str(held["text"])

    kind, mime = part.get("type", "something"), part.get("mimeType", "no type given")

    return f"[{kind} that is not shown: {mime}]"


def cut(text: str) -> str:
    """As much of an answer as fits, and how much more there is."""
    over = len(text) - LONGEST_ANSWER
    shown = f"{text[:LONGEST_ANSWER]}\n[{over} characters more are not shown]"
    return shown if over > 0 else text
