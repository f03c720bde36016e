"""The manifest: a log of numbered lines, each created if absent; what it does not name does not
exist.

Line n is the file `manifest/<n>`: the digest of what follows, a space, the history of the lines
before (see `synth.ledger.packs`), a space,
one JSON object. So a line that was changed, swapped with another or put back from an older copy
does not fit its neighbours; lines of
earlier versions have no history, and none of them stands after one that has. Numbering orders all
writers, on a disk as on an object store;
a listing is looked at only to find that a line is missing.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from synth.ledger.inside import plain
from synth.ledger.storage import Storage
from synth.schemas.canonical import canonical_json, digest
from synth.schemas.errors import DamagedError


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
    format: int = 2
    """From 2 on every file that leaves the run is named by a `WrittenLine` before it is put in its
    place.
    """


class StageLine(
    msgspec.Struct, frozen=True, tag="stage", forbid_unknown_fields=True, omit_defaults=True
):
    """A stage of the current flow has this key from here on; `adopted` are valid trajectories of
    equal slots under other keys.
    """

    stage: str
    stage_key: str
    settings: Mapping[str, Any]
    inputs: str = ""
    adopted: tuple[str, ...] = ()


class FlowLine(
    msgspec.Struct, frozen=True, tag="flow", forbid_unknown_fields=True, omit_defaults=True
):
    """A flow was started that differs from the one before; its stages' lines follow, but for those
    that it takes over as they are.
    """

    flow: Mapping[str, Any]
    stages: tuple[StageLine, ...] = ()


class ShardLine(
    msgspec.Struct, frozen=True, tag="shard", forbid_unknown_fields=True, omit_defaults=True
):
    """A shard is committed; `superseded` are its valid attempts at slots that another commit had
    settled first, as of then.

    `name` is that of the piece of work that it finishes, where the work is no filling of slots.
    """

    stage: str
    stage_key: str
    files: Mapping[str, StoredFile]
    slots: tuple[SlotRecord, ...] = ()
    superseded: tuple[str, ...] = ()
    name: str = ""


class ImportedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A file that was imported whole: hash and size of its unpacked content, what came in, and what
    did not, by reason.
    """

    file: str
    sha: str
    bytes: int
    trajectories: int = 0
    rejected: Mapping[str, int] = {}


class ImportLine(
    msgspec.Struct, frozen=True, tag="import", forbid_unknown_fields=True, omit_defaults=True
):
    """Files are imported, whole or not at all: `shards` hold everything that came in from them."""

    files: tuple[ImportedFile, ...]
    shards: tuple[ShardLine, ...] = ()


class DoneLine(
    msgspec.Struct, frozen=True, tag="done", forbid_unknown_fields=True, omit_defaults=True
):
    """A stage has run to its end under this key; `report` is what it printed."""

    stage: str
    stage_key: str
    report: Mapping[str, Any]


class FenceLine(msgspec.Struct, frozen=True, tag="fence", forbid_unknown_fields=True):
    """A holder of claims was silent for its term: from here on nothing that it commits under a
    smaller token is taken.

    `work` is the id of that holder; `holder` is drawn by who declares it, so that no two workers
    write the same line.
    """

    work: str
    token: int
    holder: str


class WrittenFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file beside the tables, as it was written; the digest is the one that `sha256sum`
    prints.
    """

    bytes: int
    sha256: str


class WrittenLine(
    msgspec.Struct, frozen=True, tag="written", forbid_unknown_fields=True, omit_defaults=True
):
    """From here on these files stand in the run (path -> file); committed before they are put in
    their place.

    `folder`: that of a dataset, which holds these files and no others; `flow` wrote it. `stage`,
    `stage_key`: the stage that is done once
    they stand; it counts as not done until its next `DoneLine`.
    """

    files: Mapping[str, WrittenFile]
    folder: str = ""
    flow: str = ""
    stage: str = ""
    stage_key: str = ""

    def places(self) -> tuple[str, ...]:
        """What the line speaks of: a dataset's folder, or single files."""
        return (self.folder,) if self.folder else tuple(self.files)


Line = RunLine | FlowLine | StageLine | ShardLine | ImportLine | DoneLine | FenceLine | WrittenLine
_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)

_SHARD = re.compile(r"[a-z_]{1,40}/[A-Za-z0-9][A-Za-z0-9_-]{0,127}\.parquet")
FOLDER = "manifest"
LOOK_AHEAD = 2


def name_of(number: int) -> str:
    """Where line `number` lies."""
    return f"{FOLDER}/{number:08d}"


def stored(line: Line, history: str = "") -> bytes:
    """A line as it lies in storage; `history` goes to the line before, the first has none."""
    payload = canonical_json(line)
    rest = history.encode() + b" " + payload if history else payload
    return digest(rest).encode() + b" " + rest + b"\n"


def chained(blob: bytes) -> str | None:
    """The history that an intact line says it follows; None for the first line, and for those of
    earlier versions.
    """
    before, _, _ = blob.partition(b" ")[2].partition(b" ")
    return None if before.startswith(b"{") else before.decode(errors="replace")


def shards_of(line: Line) -> tuple[ShardLine, ...]:
    """The shards that a line commits."""
    return (
        (line,)
        if isinstance(line, ShardLine)
        else line.shards
        if isinstance(line, ImportLine)
        else ()
    )


def paths(line: Line) -> list[str]:
    """The files of the shards that a line commits."""
    return [file.path for shard in shards_of(line) for file in shard.files.values()]


def read(storage: Storage, number: int) -> Line | None:
    """Line `number`, None past the end. Raises `DamagedError` where its bytes are not those that
    were written.
    """
    blob = read_stored(storage, number)
    return None if blob is None else decoded(storage, number, blob)


def read_stored(storage: Storage, number: int) -> bytes | None:
    """The bytes that lie under a number, None past the end."""
    try:
        return storage.read(name_of(number))
    except FileNotFoundError:
        return None


def intact(blob: bytes) -> bool:
    """Whether a line's bytes are those that were written, by the digest in them."""
    said, _, rest = blob[:-1].partition(b" ")
    return blob.endswith(b"\n") and digest(rest).encode() == said


def decoded(storage: Storage, number: int, blob: bytes) -> Line:
    """What the bytes of line `number` say. Raises `DamagedError`."""
    path = storage.path(name_of(number))
    if not intact(blob):
        raise DamagedError(
            f"{path}: damaged manifest line (its digest differs); restore it from a backup"
        )
    try:
        line = _DECODER.decode(blob[blob.find(b"{") :])
    except msgspec.MsgspecError as error:
        raise DamagedError(f"{path}: written by another version of synth: {error}") from error
    for name in _ids(line):
        if not plain(name):
            raise DamagedError(
                f"{path}: {name[:80]!r} is no id that synth gives: it would lead elsewhere; do "
                "not use this run"
            )
    for name in paths(line):
        if _SHARD.fullmatch(name) is None:
            raise DamagedError(
                f"{path}: {name[:80]!r} is no shard of this run: it would be read elsewhere; do "
                "not use this run"
            )
    return line


def _ids(line: Line) -> list[str]:
    """The ids in a line that names of files are made of, here or in the state folder."""
    shards = [one.stage_key for one in shards_of(line)]
    match line:
        case RunLine():
            return [line.run_id]
        case FlowLine():
            return [stage.stage_key for stage in line.stages]
        case StageLine() | DoneLine():
            return [line.stage_key]
        case WrittenLine():
            return [line.stage_key] if line.stage_key else []
        case FenceLine():
            return [line.work]
        case _:
            return shards


def listed(storage: Storage) -> set[int]:
    """The numbers under which something lies, by a listing."""
    return {int(name) for name in storage.names(FOLDER) if name.isdecimal()}


def goes_on(storage: Storage, number: int) -> bool:
    """Whether lines stand after `number`, by a look at the next few names."""
    return any(
        storage.size(name_of(number + ahead)) is not None for ahead in range(1, 1 + LOOK_AHEAD)
    )


def misplaced_error(storage: Storage, number: int) -> DamagedError:
    """One line for a line that is whole, but not the one that was committed here."""
    return DamagedError(
        f"{storage.path(name_of(number))}: is not the manifest line that was committed here (it "
        "follows other lines than stand before "
        "it: swapped, or put back from another copy); restore the whole manifest from one backup"
    )


def missing_error(storage: Storage, number: int) -> DamagedError:
    """One line for a line that is not there though it must be."""
    return DamagedError(
        f"{storage.path(name_of(number))}: this manifest line is missing or cannot be read, "
        "though the manifest goes on; "
        "restore it from a backup: nothing is read past it, and nothing is written in its place"
    )
