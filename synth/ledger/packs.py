"""Packs: consecutive lines of the manifest copied into one object, for who is many lines behind;
never the truth.

`manifest/packs/<first>-<last>` holds those lines as they are stored, 8, 32 or 256 of them, each
with its digest. In front stand the
digest of all that follows, and the history: a hash over every line from the very first to the last
one here. It is made of the lines
alone, so whoever writes it writes the same bytes. A pack that is not there, not intact, or of
another history is as good as none: the
lines are read. `synth.ledger.verify` compares each pack with the lines themselves.
"""

import contextlib
from collections.abc import Sequence
from functools import reduce

from synth.ledger import manifest
from synth.ledger.storage import Storage
from synth.schemas.canonical import digest
from synth.schemas.errors import SynthError

FOLDER = f"{manifest.FOLDER}/packs"
SIZES = (256, 32, 8)
HEAD = 2
"""Lines of text before those of the manifest."""
LARGEST = 32 * 2**20
"""Bytes of a pack: where lines are so long (imports of very many files), they are read one by one.
"""


def name_of(first: int, size: int) -> str:
    """Where the pack of so many lines lies."""
    return f"{FOLDER}/{first:08d}-{first + size - 1:08d}"


def history_after(history: str, blob: bytes) -> str:
    """The hash over all lines up to this one, of which `history` is the hash over those before; ""
    before the first.
    """
    return digest(history.encode() + blob.partition(b" ")[0])


def packed(lines: Sequence[bytes], history: str) -> bytes:
    """The pack of stored lines; `history` goes to the last of them."""
    body = f"{history}\n".encode() + b"".join(lines)
    return f"{digest(body)}\n".encode() + body


def unpacked(blob: bytes) -> tuple[list[bytes], str] | None:
    """The stored lines of a pack and its history; None where its bytes, or those of a line, are not
    those that were written.
    """
    said, _, body = blob.partition(b"\n")
    if digest(body).encode() != said:
        return None
    history, _, rest = body.partition(b"\n")
    lines = rest.splitlines(keepends=True)
    return (lines, history.decode(errors="replace")) if all(map(manifest.intact, lines)) else None


def there(storage: Storage, number: int) -> bool:
    """Whether something lies where the greatest pack that ends with this line belongs."""
    return storage.size(name_of(number + 1 - max(SIZES), max(SIZES))) is not None


def write(storage: Storage, number: int, lines: Sequence[bytes], history: str) -> None:
    """Writes the packs that are full with line `number`, the last of the stored `lines`, as far
    back as those go.

    Where one cannot be written there is none: the line itself stands, and the next commit says what
    is wrong with the storage.
    """
    for size in SIZES:
        part = lines[-size:]
        if (number + 1) % size == 0 and len(part) == size and sum(map(len, part)) <= LARGEST:
            with contextlib.suppress(SynthError):
                storage.create(name_of(number + 1 - size, size), packed(part, history))


def read(storage: Storage, number: int, size: int, history: str) -> list[bytes] | None:
    """Stored lines from `number` to the end of the pack of so many lines that holds it, where
    `history` goes to the line before `number`.

    None where there is no such pack, or where it does not go on from that history.
    """
    first = number - number % size
    try:
        found = unpacked(storage.read(name_of(first, size)))
    except (FileNotFoundError, SynthError):
        return None
    if found is None or len(found[0]) != size:
        return None
    lines = found[0][number - first :]
    return lines if reduce(history_after, lines, history) == found[1] else None
