"""JSON that a text is."""

from typing import Any

import msgspec


def json_in(text: str) -> Any:
    """The object or list that a text is; None for other texts, and for what is nested too deeply to
    be read.
    """
    if text[:1] not in ("{", "["):
        return None

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
