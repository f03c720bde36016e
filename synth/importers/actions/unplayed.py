"""Calls that stand in the text of an answer and were never made: whoever read it was a person."""

import json
import re
from collections.abc import Iterator
from typing import Any

from synth.importers.actions.markup import in_tags, named_call

UNPLAYED_MASK = "call_in_text"
"""Mask of such turns: to learn them is to learn calls that nothing carries out."""
_NAME = re.compile(r"[A-Za-z_][\w.:/-]*")
_DECODER = json.JSONDecoder()
_AGAIN = 4


def writes_a_call(text: str | None) -> bool:
    """Whether a text holds a call between tags, or a JSON object that has a tool's name and an
    object of arguments, wherever in the text it stands.
    """
    if not text:
        return False
    return in_tags(text) is not None or any(map(_is_call, _objects(text)))


def _is_call(value: Any) -> bool:
    try:
        name, arguments = named_call(value)
    except (ValueError, RecursionError):
        return False
    inner = value["function"] if isinstance(value.get("function"), dict) else value
    given = any(one is arguments for one in inner.values())
    return given and isinstance(arguments, dict) and _NAME.fullmatch(name) is not None


def _objects(text: str) -> Iterator[Any]:
    """The outermost JSON objects, in their order; no further ones where so many begin and do not
    end that a text is read several times over.
    """
    at, left = text.find("{"), _AGAIN * len(text)
    while at >= 0 and left > 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            end, left = at + 1, left - (error.pos - at) - 1
        except (ValueError, RecursionError):
            return  # numbers of thousands of digits, objects of a thousand levels: no call
        else:
            yield value
        at = text.find("{", end)
