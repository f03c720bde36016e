"""The manifest: a log of numbered lines, each created if absent; what no line names does not exist.

Line n is the file `manifest/<n>`: the digest of what follows, a space, the history of the lines
before it (`history_after`), a space, one JSON object. So a line that was changed, swapped with
another or put back from an older copy does not fit its neighbours. Lines of earlier versions have
no history, and none of them stands after one that has. The numbers order all writers, on a disk as
in an object store; a listing is looked at only to find that a line is missing.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from synth.ledger.storage import Storage
from synth.ledger.storage.names import IDENTIFIER
from synth.schemas import DamagedError, canonical_json, digest

Json = Mapping[str, Any]
"""An object of JSON: the settings of a stage, its report."""
FOLDER = "manifest"
LOOK_AHEAD = 2
"""Names after a line that is not there which are looked at: if one of them is, the line is missing.
"""
_SHARD = r"[a-z_]{1,40}/[A-Za-z0-9][A-Za-z0-9_-]{0,127}\.parquet"
Identifier = Annotated[str, msgspec.Meta(pattern=rf"\A{IDENTIFIER}\Z")]
"""Files are named after it, in the run or in the state folder, so it may lead nowhere else."""
ShardPath = Annotated[str, msgspec.Meta(pattern=rf"\A{_SHARD}\Z")]


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How lines and what they hold are stored: defaults are left out, unknown keys are refused."""


class StoredFile(_Stored, frozen=True):
    """One parquet file of a shard, as it was written."""

    path: ShardPath
    rows: int
    bytes: int
    digest: str


class SlotRecord(msgspec.Struct, frozen=True, array_like=True):
    """What a shard holds of a slot: `fault` None = a valid attempt."""

    slot_id: str
    attempt: int
    trajectory_id: str
    fault: str | None


class RunLine(_Stored, frozen=True, tag="run", omit_defaults=False):
    """The first line: the run's own id, under which its journals are kept.

    From `format` 2 on every file that leaves the run is named by a `WrittenLine` before it is put
    in its place.
    """

    run_id: Identifier
    format: int = 2


class StageLine(_Stored, frozen=True, tag="stage"):
    """A stage of the current flow has this key from here on; `adopted` are valid trajectories of
    equal slots under other keys.
    """

    stage: str
    stage_key: Identifier
    settings: Json
    inputs: str = ""
    adopted: tuple[str, ...] = ()


class FlowLine(_Stored, frozen=True, tag="flow"):
    """A flow was started that differs from the one before; `stages` are those that it takes over as
    they are, the lines of the others follow.
    """

    flow: Json
    stages: tuple[StageLine, ...] = ()


class ShardLine(_Stored, frozen=True, tag="shard"):
    """A shard is committed; `superseded` are its valid attempts at slots that another commit had
    settled first, as of then.

    `name` is that of the piece of work that it finishes, where the work does not fill slots.
    """

    stage: str
    stage_key: Identifier
    files: Mapping[str, StoredFile]
    slots: tuple[SlotRecord, ...] = ()
    superseded: tuple[str, ...] = ()
    name: str = ""


class ImportedFile(_Stored, frozen=True):
    """A file that was imported whole: hash and size of its unpacked content, how many trajectories
    came in, and how many records did not, by reason.
    """

    file: str
    sha: str
    bytes: int
    trajectories: int = 0
    rejected: Mapping[str, int] = {}


class ImportLine(_Stored, frozen=True, tag="import"):
    """Files are imported, whole or not at all: `shards` hold everything that came in from them."""

    files: tuple[ImportedFile, ...]
    shards: tuple[ShardLine, ...] = ()


class DoneLine(_Stored, frozen=True, tag="done"):
    """A stage has run to its end under this key; `report` is what it printed."""

    stage: str
    stage_key: Identifier
    report: Json


class FenceLine(_Stored, frozen=True, tag="fence"):
    """A worker was silent for its term: from here on nothing that it commits under a smaller token
    is taken.

    `work` is the worker's id; whoever declares it draws `holder`, so that no two write the same
    line.
    """

    work: Identifier
    token: int
    holder: str


class WrittenFile(_Stored, frozen=True):
    """A file beside the tables, as it was written; `sha256sum` prints the same digest."""

    bytes: int
    sha256: str


class WrittenLine(_Stored, frozen=True, tag="written"):
    """From here on these files stand in the run (path -> file); committed before they are put in
    their place.

    `folder`: that of a dataset, which holds these files and no others; `flow` wrote it. `stage`,
    `stage_key`: the stage that is done once they stand; it counts as not done until its next
    `DoneLine`.
    """

    files: Mapping[str, WrittenFile]
    folder: str = ""
    flow: str = ""
    stage: str = ""
    stage_key: Identifier = ""

    def places(self) -> tuple[str, ...]:
        """What the line speaks of: the folder of a dataset, or single files."""
        return (self.folder,) if self.folder else tuple(self.files)


Line = RunLine | FlowLine | StageLine | ShardLine | ImportLine | DoneLine | FenceLine | WrittenLine
_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def name_of(number: int) -> str:
    """Where line `number` lies."""
    return f"{FOLDER}/{number:08d}"


def stored(line: Line, history: str = "") -> bytes:
    """A line as it lies in storage; `history` goes to the line before, the first has none."""
    payload = canonical_json(line)
    rest = history.encode() + b" " + payload if history else payload
    return digest(rest).encode() + b" " + rest + b"\n"


def history_after(history: str, blob: bytes) -> str:
    """The hash over all lines up to this one, of which `history` is the hash over those before; ""
    before the first.
    """
    return digest(history.encode() + blob.partition(b" ")[0])


def chained(blob: bytes) -> str | None:
    """The history that an intact line says it follows; None for the first line, and for those of
    earlier versions.
    """
    before, _, _ = blob.partition(b" ")[2].partition(b" ")
    return None if before.startswith(b"{") else before.decode(errors="replace")


def shard_paths(line: Line) -> list[str]:
    """The files of the shards that a line commits."""
    shards = line.shards if isinstance(line, ImportLine) else [line]
    files = (one.files.values() for one in shards if isinstance(one, ShardLine))
    return [file.path for of_shard in files for file in of_shard]


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
    if not intact(blob):
        raise damage(
            storage, number, "damaged manifest line (its digest differs); restore it from a backup"
        )
    try:
        return _DECODER.decode(blob[blob.find(b"{") :])
    except msgspec.MsgspecError as error:
        problem = f"written by another version of synth: {error}"
        if "regex" in str(error):
            problem = (
                f"holds an id or a path that synth never gives ({error}), and that would lead "
                "elsewhere; do not use this run"
            )
        raise damage(storage, number, problem) from error


def listed(storage: Storage) -> set[int]:
    """The numbers under which something lies, by a listing."""
    return {int(name) for name in storage.names(FOLDER) if name.isdecimal()}


def goes_on(storage: Storage, number: int) -> bool:
    """Whether lines stand after `number`, by a look at the next few names."""
    ahead = range(number + 1, number + 1 + LOOK_AHEAD)
    return any(storage.size(name_of(one)) is not None for one in ahead)


def damage(storage: Storage, number: int, problem: str) -> DamagedError:
    """The error of line `number`: the path of its file, and the problem."""
    return DamagedError(f"{storage.path(name_of(number))}: {problem}")


def misplaced_error(storage: Storage, number: int) -> DamagedError:
    """For a line that is whole, but not the one that was committed here."""
    return damage(
        storage,
        number,
        "is not the manifest line that was committed here (it follows other lines than stand "
        "before it: swapped, or put back from another copy); restore the whole manifest from one "
        "backup",
    )


def missing_error(storage: Storage, number: int) -> DamagedError:
    """For a line that is not there though it must be."""
    return damage(
        storage,
        number,
        "this manifest line is missing or cannot be read, though the manifest goes on; restore it "
        "from a backup: nothing is read past it, and nothing is written in its place",
    )
