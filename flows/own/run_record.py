"""How a run was made on this machine, kept in the state folder: its environments may be started so
again, at that place alone.

A run folder holds nothing that could say so, for all in it may be another's. The record holds for
the folder or URL at which the run
was made, for its id, and for the first lines of its manifest: a copy elsewhere is not it, nor is
another run that is put in its place.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec
from pydantic import ValidationError

from synth.flows.own.bindings import SaidByUser
from synth.ledger.ledger import StoredLedger
from synth.ledger.log import manifest
from synth.ledger.storage import Storage
from synth.ledger.storage.errors import accessing
from synth.ledger.storage.journal import state_folder
from synth.schemas import ConfigError, Flow, SynthError, content_hash, digest

FOLDER = "made"
MOST_LINES = 8
"""Lines of the manifest that are compared: the run, its flow, its first stages and shards. On an
object store each is a request.
"""


class RunRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`said` of each environment, as the flow wrote it: keys are named in it, never held.

    `runs`: hashes of `synth.flows.own.own_flow.what_runs`.
    """

    lines: int
    digest: str
    said: Mapping[str, SaidByUser]
    runs: tuple[str, ...] = ()


def keep_record(ledger: StoredLedger, said: Mapping[str, SaidByUser], runs: Iterable[str]) -> None:
    """Writes down what a user's flow says, beside what their earlier flows said, for this run at
    this place. Raises `SynthError`.
    """
    storage = ledger.storage
    if storage.url.startswith("memory:"):  # it ends with this process
        return
    stored = _stored(storage, ledger.state.lines)
    path = _path(storage, ledger.state.run_id)
    known = tuple(map(content_hash, runs))
    before = _read(path, lambda lines: stored[:lines])
    if before is not None:
        said, known = {**before.said, **said}, tuple(dict.fromkeys([*before.runs, *known]))
    made = RunRecord(len(stored), content_hash(stored, size=32), said, known)
    if made == before:
        return
    temporary = path.with_suffix(f".{os.getpid()}")
    with accessing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.chmod(0o700)
        temporary.touch(mode=0o600)
        temporary.write_bytes(msgspec.json.encode(made))
        temporary.replace(path)


def record_of(ledger: StoredLedger) -> RunRecord | None:
    """How this run was made here; None where it was not: nothing of it is believed then."""
    return _record(ledger.storage, ledger.state.run_id)


def said_of_run(ledger: StoredLedger) -> Mapping[str, SaidByUser]:
    """What the user said of the environments of a run that was made here; nothing of any other."""
    found = record_of(ledger)
    return {} if found is None else found.said


def stored_flow(ledger: StoredLedger) -> Flow | None:
    """The flow of a run, None where none was begun on it. Raises `ConfigError` for one of another
    version of synth.
    """
    if ledger.state.flow is None:
        return None
    try:
        return Flow.model_validate(ledger.state.flow)
    except ValidationError as error:
        raise ConfigError(
            f"{ledger.storage.url}: its flow was written by another version of synth: "
            f"{error.errors()[0]['msg']}"
        ) from error


def made_here(url: str) -> frozenset[str]:
    """Hashes of what the flows of the run at `url` said of what runs, if it was made here."""
    try:
        storage = Storage(url)
        first = manifest.read(storage, 0)
    except SynthError:
        return frozenset()
    found = _record(storage, first.run_id) if isinstance(first, manifest.RunLine) else None
    return frozenset(found.runs if found else ())


def place_of(storage: Storage) -> str:
    """Where a run lies: the same for each path that leads to a folder."""
    return str(Path(storage.root).resolve()) if storage.local else storage.url


def _record(storage: Storage, run_id: str) -> RunRecord | None:
    return _read(_path(storage, run_id), lambda lines: _stored(storage, lines))


def _read(path: Path, stored: Callable[[int], list[str | None]]) -> RunRecord | None:
    """The record in a file, None where the manifest's first lines are not those that it is of."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=RunRecord)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if content_hash(stored(found.lines), size=32) == found.digest else None


def _path(storage: Storage, run_id: str) -> Path:
    return state_folder() / FOLDER / f"{content_hash([run_id, place_of(storage)], size=16)}.json"


def _stored(storage: Storage, lines: int) -> list[str | None]:
    """Digests of the first lines of a manifest, as they are stored; None for a line that is
    gone.
    """
    blobs = [manifest.read_stored(storage, number) for number in range(min(lines, MOST_LINES))]
    return [None if blob is None else digest(blob) for blob in blobs]
