"""The JSON objects of a reply: past thinking, prose and fences, strictly read where that can be
done, else loosely.
"""

import json
import re
from typing import Any

from synth.text.calls.forms.harmony import read_harmony
from synth.text.calls.thinking import thinking_in
from synth.text.replies.loose_json import LooseJSONError, loose_json

MOST_BRACES = 400
"""The most places in a reply at which a value may begin; the last ones are tried."""
LOOSELY = "json_read_loosely"
_STRICT = json.JSONDecoder()
_FENCES = re.compile(r"^[ \t]*(?:```|~~~)[\w\-]*[ \t]*$", re.MULTILINE)


def said(content: str) -> str:
    """A reply without the thinking before it, whatever tags or channels it stands in."""
    channels = read_harmony(content, ())
    content = content if channels is None else channels.text
    spans = thinking_in(content)
    rest, position = "", 0
    for start, end in spans:
        rest += content[position:start]
        position = end
    return rest + content[position:]


def objects_in(content: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The outermost objects of a reply, in order, and the name of what was mended; the only object
    of a list counts, too.
    """
    text = _FENCES.sub("", said(content))
    found: list[dict[str, Any]] = []
    loosely, end = False, 0
    begins = [match.start() for match in re.finditer(r"\{", text)][-MOST_BRACES:]
    for begin in begins:
        if begin < end:
            continue
        try:
            value, end = _STRICT.raw_decode(text, begin)
        except (ValueError, RecursionError):
            value, mended, end = _loosely(text, begin, end)
            loosely = loosely or mended
        if isinstance(value, dict):
            found.append(value)
    return found, (LOOSELY,) if loosely else ()


def _loosely(text: str, begin: int, end: int) -> tuple[Any, bool, int]:
    """The value loosely read and where it ends; None, and where the reading was, where there is
    none.
    """
    try:
        value, end = loose_json(text, begin)
    except LooseJSONError:
        return None, False, end
    return value, True, end
