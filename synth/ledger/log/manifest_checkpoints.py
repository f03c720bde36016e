"""Checkpoints: consecutive lines of the manifest copied into one object, for readers that are many
lines behind; never the truth.

`manifest/packs/<first>-<last>` holds 8, 32 or 256 lines as they are stored, each with its digest.
In front stand the digest of all that follows and the history: a hash over every line from the very
first to the last one here. It is made of the lines alone, so whoever writes it writes the same
bytes. A checkpoint that is not there, not intact, or of another history is as good as none: the
lines are read. `synth.ledger.log.verify` compares each one with the lines themselves.
"""

import contextlib
from collections.abc import Sequence

from synth.ledger.log import manifest
from synth.ledger.storage import Storage
from synth.schemas import SynthError, digest

FOLDER = f"{manifest.FOLDER}/packs"
SIZES = (256, 32, 8)
"""Lines, the greatest size first."""
HEAD = 2
"""Lines of text before those of the manifest."""
LARGEST = 32 * 2**20
"""Bytes of a checkpoint; lines so long that it would be larger (imports of very many files) are
read one by one.
"""


def name_of(number: int, size: int) -> str:
    """Where the checkpoint of so many lines lies that holds line `number`."""
    first = number - number % size
    return f"{FOLDER}/{first:08d}-{first + size - 1:08d}"


def write(storage: Storage, number: int, lines: Sequence[bytes], history: str) -> None:
    """Writes the checkpoints that are full with line `number`, the last of the stored `lines`, as
    far back as those go; `history` goes to that line.

    Where one cannot be written there is none: the line itself stands, and the next commit says what
    is wrong with the storage.
    """
    for size in SIZES:
        part = lines[-size:]
        if (number + 1) % size == 0 and len(part) == size and sum(map(len, part)) <= LARGEST:
            body = f"{history}\n".encode() + b"".join(part)
            with contextlib.suppress(SynthError):
                storage.create(name_of(number, size), f"{digest(body)}\n".encode() + body)


def read(storage: Storage, number: int, size: int) -> tuple[list[bytes], str] | None:
    """All stored lines of the checkpoint that holds line `number`, and the history that it says
    goes to the last of them.

    None where there is no such checkpoint, or where its bytes, or those of a line in it, are not
    those that were written.
    """
    try:
        said, _, body = storage.read(name_of(number, size)).partition(b"\n")
    except (FileNotFoundError, SynthError):
        return None
    if digest(body).encode() != said:
        return None
    history, _, rest = body.partition(b"\n")
    lines = rest.splitlines(keepends=True)
    if len(lines) != size or not all(map(manifest.intact, lines)):
        return None
    return lines, history.decode(errors="replace")
