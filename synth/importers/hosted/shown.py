"""What a provider's tool gave back, as text: what only the provider can read leaves a note."""

import json
from typing import Any

from synth.importers.conversation import note_of

_SEALED = ("encrypted_content", "encrypted_index", "encrypted_stdout", "encryptedContent")


def shown(value: Any) -> str:
    """A result as text: texts as they are, all else as JSON, and a note for each kind of thing in
    it that nobody but the provider can read.
    """
    sealed: dict[str, None] = {}
    value = _opened(value, sealed)
    texts = _texts(value)
    if texts is None:
        texts = [] if value is None else [json.dumps(value, ensure_ascii=False)]
    return "\n".join([*texts, *map(note_of, sealed)])


def _texts(value: Any) -> list[str] | None:
    """The texts of a text, or of a list of parts that are all text."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not value:
        return None
    texts = [one.get("text") if isinstance(one, dict) else None for one in value]
    kinds = {one.get("type") for one in value if isinstance(one, dict)}
    found = [text for text in texts if isinstance(text, str)]
    return found if kinds <= {"text"} and len(found) == len(value) else None


def _opened(value: Any, sealed: dict[str, None]) -> Any:
    """The value without what is encrypted, or is a file's bytes."""
    if isinstance(value, list):
        return [_opened(one, sealed) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "base64" and "data" in value:
        sealed["base64"] = None
        return {key: one for key, one in value.items() if key != "data"}

    kept = {}
    for key, one in value.items():
        if key in _SEALED and one:
            sealed["encrypted_content"] = None
        elif key not in _SEALED:
            kept[key] = _opened(one, sealed)
    return kept
