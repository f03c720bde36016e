"""JSON values in arrow columns: as text that `datasets` reads back as the value, never as structs
whose keys would be filled with null.
"""

from typing import Any

import msgspec

from synth.exporters.exact_json import exact_json
from synth.schemas.model import Message


def text(value: Any) -> str:
    """JSON text of a value, exact wherever any text is."""
    found = exact_json(value)
    return msgspec.json.encode(value).decode() if found is None else found


def plain_text(value: Any) -> str:
    """JSON text that consumers decode themselves."""
    return msgspec.json.encode(value).decode()


def said(message: Message) -> Message:
    """A message that says nothing beside its calls says "": of null, some chat templates make the
    word None, or an error.
    """
    return message | {"content": ""} if message["content"] is None else message


def holds_exactly(value: Any) -> bool:
    """Whether `datasets` gives it back unchanged."""
    return exact_json(value) is not None
