"""The manifest: a log of numbered lines, each created if absent; what it does not name does not exist.

Line n is the file `manifest/<n>`: its own digest, a space, one JSON object. Numbering orders all writers, on a disk
as on an object store; a listing is looked at only to find that a line is missing.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from schemas.canonical import canonical_json, digest
from schemas.errors import DamagedError
from synth.ledger.storage import Storage


class StoredFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One parquet file of a shard, as it was written."""

    path: str
    rows: int
    bytes: int
    digest: str


class SlotRecord(msgspec.Struct, frozen=True, array_like=True):
    """What a shard holds of a slot: `fault` None = a valid attempt."""

    slot_id: str
    attempt: int
    trajectory_id: str
    fault: str | None


class RunLine(msgspec.Struct, frozen=True, tag="run", forbid_unknown_fields=True):
    """The first line: the run's own id (its journal is kept under it)."""

    run_id: str
    format: int = 1


class StageLine(msgspec.Struct, frozen=True, tag="stage", forbid_unknown_fields=True, omit_defaults=True):
    """A stage of the current flow has this key from here on; `adopted` are valid trajectories of equal slots under other keys."""

    stage: str
    stage_key: str
    settings: Mapping[str, Any]
    inputs: str = ""
    adopted: tuple[str, ...] = ()


class FlowLine(msgspec.Struct, frozen=True, tag="flow", forbid_unknown_fields=True, omit_defaults=True):
    """A flow was started that differs from the one before; its stages' lines follow, but for those that it takes over as they are."""

    flow: Mapping[str, Any]
    stages: tuple[StageLine, ...] = ()


class ShardLine(msgspec.Struct, frozen=True, tag="shard", forbid_unknown_fields=True, omit_defaults=True):
    """A shard is committed; `superseded` are its valid attempts at slots that another commit had settled first, as of then.

    `name` is that of the piece of work that it finishes, where the work is no filling of slots.
    """

    stage: str
    stage_key: str
    files: Mapping[str, StoredFile]
    slots: tuple[SlotRecord, ...] = ()
    superseded: tuple[str, ...] = ()
    name: str = ""


class ImportedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A file that was imported whole: hash and size of its unpacked content, what came in, and what did not, by reason."""

    file: str
    sha: str
    bytes: int
    trajectories: int = 0
    rejected: Mapping[str, int] = {}


class ImportLine(msgspec.Struct, frozen=True, tag="import", forbid_unknown_fields=True, omit_defaults=True):
    """Files are imported, whole or not at all: `shards` hold everything that came in from them."""

    files: tuple[ImportedFile, ...]
    shards: tuple[ShardLine, ...] = ()


class DoneLine(msgspec.Struct, frozen=True, tag="done", forbid_unknown_fields=True, omit_defaults=True):
    """A stage has run to its end under this key; `report` is what it printed."""

    stage: str
    stage_key: str
    report: Mapping[str, Any]


class FenceLine(msgspec.Struct, frozen=True, tag="fence", forbid_unknown_fields=True):
    """A piece of work was taken from a worker whose lease was over: from here on nothing is committed for it under a smaller token.

    `holder` is drawn by who took it, so that no two workers write the same line.
    """

    work: str
    token: int
    holder: str


Line = RunLine | FlowLine | StageLine | ShardLine | ImportLine | DoneLine | FenceLine
_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


LOOK_AHEAD = 2


def _name(number: int) -> str:
    return f"manifest/{number:08d}"


def append(storage: Storage, number: int, line: Line) -> bool:
    """Writes line `number`; False where another writer was first."""
    payload = canonical_json(line)
    return storage.create(_name(number), digest(payload).encode() + b" " + payload + b"\n")


def read(storage: Storage, number: int) -> Line | None:
    """Line `number`, None past the end. Raises `DamagedError` where its bytes are not those that were written."""
    try:
        blob = storage.read(_name(number))
    except FileNotFoundError:
        return None
    stored, _, payload = blob.rstrip(b"\n").partition(b" ")
    if digest(payload).encode() != stored:
        raise DamagedError(f"{storage.path(_name(number))}: damaged manifest line (its digest differs); restore it from a backup")
    try:
        return _DECODER.decode(payload)
    except msgspec.MsgspecError as error:
        raise DamagedError(f"{storage.path(_name(number))}: written by another version of synth: {error}") from error


def goes_on(storage: Storage, number: int, *, listed: bool) -> bool:
    """Whether lines stand from `number` on, by a listing of the folder or by a look at the next few names."""
    if listed:
        return any(name.isdecimal() and int(name) >= number for name in storage.names("manifest"))
    return any(storage.size(_name(number + ahead)) is not None for ahead in range(1, 1 + LOOK_AHEAD))


def missing_error(storage: Storage, number: int) -> DamagedError:
    """One line for a line that is not there though it must be."""
    return DamagedError(
        f"{storage.path(_name(number))}: this manifest line is missing or cannot be read, though the manifest goes on; "
        "restore it from a backup: nothing is read past it, and nothing is written in its place"
    )
