"""The JSON objects of a reply: past thinking, prose and fences, strictly read where that can be
done, else loosely.
"""

import json
import re
from typing import Any, NamedTuple

from synth.text.calls.forms.harmony import read_harmony
from synth.text.calls.thinking import thinking_in, told_apart
from synth.text.replies.loose_json import LooseJSONError, loose_json

MOST_BRACES = 400
"""The most places in a reply at which a value may begin; the last ones are tried."""
LOOSELY = "json_read_loosely"
UNCLOSED = "json_unclosed"
"""The last brace is missing, so that what is not in the last object may have been cut off."""
_STRICT = json.JSONDecoder()
_FENCES = re.compile(r"^[ \t]*(?:```|~~~)[\w\-]*[ \t]*$", re.MULTILINE)


def said(content: str) -> str:
    """A reply without the thinking before it, whatever tags or channels it stands in."""
    channels = read_harmony(content, ())
    content = content if channels is None else channels.text
    return "".join(outside for outside, _ in told_apart(content, thinking_in(content)))


def plain_text(content: str) -> str:
    """What a reply says, without the marks of fences."""
    return _FENCES.sub("", said(content)).strip()


class PlacedObject(NamedTuple):
    """An object of a reply, and where it begins and ends in the text."""

    value: dict[str, Any]
    begin: int
    end: int


def objects_in(content: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The outermost objects of a reply, in order, and the name of what was mended; the only object
    of a list counts, too.
    """
    _, found, mended = placed_in(content)
    return [one.value for one in found], mended


def placed_in(content: str) -> tuple[str, list[PlacedObject], tuple[str, ...]]:
    """What a reply says, its outermost objects with their places in that, and what was mended."""
    text = _unescaped(plain_text(content))
    found: list[PlacedObject] = []
    loosely, end, unclosed = False, 0, False
    begins = [match.start() for match in re.finditer(r"[{｛]", text)][-MOST_BRACES:]
    for begin in begins:
        if begin < end:
            continue
        try:
            value, end = _STRICT.raw_decode(text, begin)
        except (ValueError, RecursionError):
            value, mended, end = _loosely(text, begin, end)
            loosely = loosely or mended
        if isinstance(value, dict):
            found.append(PlacedObject(value, begin, end))
            unclosed = not text.startswith(("}", "｝"), end - 1)
    told = {LOOSELY: loosely, UNCLOSED: unclosed}
    return text, found, tuple(name for name, holds in told.items() if holds)


def _unescaped(text: str) -> str:
    """The text; JSON that is written as a JSON string, with or without its quotes, as it is
    meant.
    """
    bare = text.strip()
    if re.search(r'\{\s*\\"', bare) is None:
        return text
    inner = bare[1:-1] if bare.startswith('"') and bare.endswith('"') and len(bare) > 1 else bare
    try:
        return str(json.loads(f'"{inner}"', strict=False))
    except ValueError:
        return text


def _loosely(text: str, begin: int, end: int) -> tuple[Any, bool, int]:
    """The value loosely read and where it ends; None, and where the reading was, where there is
    none.
    """
    try:
        value, end = loose_json(text, begin)
    except LooseJSONError:
        return None, False, end
    return value, True, end
