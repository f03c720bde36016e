"""How a key may be written in what a server says: base64 at every alignment, hexadecimal, and those
within each other.
"""

import base64
from collections.abc import Iterator
from urllib.parse import quote_plus


def spellings(key: bytes) -> dict[bytes, bool]:
    """The spellings of a key that are looked for literally, in small letters, the key itself first,
    each with whether it is base64.

    Escapes are undone elsewhere.
    """
    found = {key: False, key.hex().encode(): False, quote_plus(key).encode(): False}
    for inner in (key, key.hex().encode(), key.hex().upper().encode(), *_base64(key)):
        found |= dict.fromkeys(_base64(inner), True)

    for inner in _base64(key):
        found.setdefault(inner.hex().encode(), False)

    return {spelled.lower(): coded for spelled, coded in found.items()}


def _base64(text: bytes) -> Iterator[bytes]:
    """What base64 of any text that holds this one has in common: at three alignments, without the
    characters that neighbours share.
    """
    for before in range(3):
        coded = base64.b64encode(bytes(before) + text + bytes(2))
        inside = coded[-(-before * 8 // 6) : (before + len(text)) * 8 // 6]
        yield inside
        yield inside.replace(b"+", b"-").replace(b"/", b"_")
