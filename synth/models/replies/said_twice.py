"""JSON that says one thing twice: readers differ in which of the two they take, so such a reply has
no meaning.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

_ONCE = (b"choices", b"usage", b"error")
_PER_CHOICE = (b"message", b"role", b"finish_reason", b"tool_calls", b"token_ids")
_PER_TEXT = (b"content", b"refusal")
_PER_CALL = (b"function", b"name", b"arguments")
_NAMES = frozenset((*_ONCE, *_PER_CHOICE, *_PER_TEXT, *_PER_CALL))
_FIELD = re.compile(rb'"(%s)"\s*:' % b"|".join(sorted(_NAMES)))
_ESCAPED_NAME = re.compile(rb"\\u00(?:5[fF]|6[1-9a-fA-F]|7[0-9aA])")
"""A small letter or an underscore that is written as an escape, as no serialiser does."""


def check_said_once(body: bytes, choices: int, texts: int, calls: int) -> None:
    """Raises `ValueError` where a field of the reply stands twice in one object.

    Quotes within strings are escaped, so counting quoted names shows in a moment where that can be;
    only such a body is read again. `texts` = messages, and log-probabilities beside them.
    """
    most = (
        dict.fromkeys(_ONCE, 1)
        | dict.fromkeys(_PER_CHOICE, choices)
        | dict.fromkeys(_PER_TEXT, texts)
        | dict.fromkeys(_PER_CALL, calls)
    )
    found = Counter(_FIELD.findall(body))
    too_many = any(count > most[name] for name, count in found.items())
    if too_many or _ESCAPED_NAME.search(body) is not None:
        read_once(body)


def read_once(body: bytes) -> Any:
    """The JSON in a body. Raises `ValueError` where it is none, or a field of the reply stands
    twice in one object.
    """
    return json.loads(body, object_pairs_hook=_checked)


def _checked(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found and name.encode(errors="replace") in _NAMES:
            raise ValueError(f"its field {name!r} stands twice in one object")
        found[name] = value
    return found
