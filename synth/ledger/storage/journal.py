"""The journal: what an episode has paid for, on disk before it is used.

Local and append-only, one file per shard under work. A line is a CRC-32, a space, one JSON object,
written by a single `write` to a file opened for appending: it survives the death of the process. A
finished shard's journal is removed after its commit. The file is locked (flock) while its shard is
worked on; the lock dies with the process.
"""

import contextlib
import fcntl
import os
import zlib
from collections.abc import Mapping
from itertools import count
from pathlib import Path

import msgspec

from synth.ledger.storage.errors import accessing
from synth.schemas import Completion, Fault, SynthError


class _OfAttempt(msgspec.Struct, frozen=True, omit_defaults=True):
    slot_id: str
    attempt: int


class JournaledReply(_OfAttempt, frozen=True, tag="reply"):
    """A model's reply: `ordinal` counts the calls of the attempt, `request` is the hash of what was
    asked.
    """

    ordinal: int
    request: str
    completion: Completion


class JournaledStep(_OfAttempt, frozen=True, tag="step"):
    """The environment's answer in one turn (-1 = the opening): digest of its observations and state
    key.
    """

    turn: int
    observed: str


class JournaledFault(_OfAttempt, frozen=True, tag="fault"):
    """The attempt ended by a fault in this turn and phase; a resumed slot goes on with its next
    attempt.
    """

    turn: int
    phase: str
    fault: Fault
    detail: str


Event = JournaledReply | JournaledStep | JournaledFault
Events = dict[tuple[str, int], list[Event]]
"""By slot and attempt, as they were written."""
_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_encode = msgspec.json.Encoder().encode


class BusyError(Exception):
    """Another process works on this shard."""


class Journal:
    """One shard's journal, open for appending. Raises `BusyError` where another process has it,
    `SynthError` where it cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _locked(path)
        try:
            with accessing(path):
                size = os.lseek(self._file, 0, os.SEEK_END)
                if size and os.pread(self._file, 1, size - 1) != b"\n":
                    os.write(self._file, b"\n")
        except SynthError:
            os.close(self._file)
            raise

    @property
    def empty(self) -> bool:
        """Whether nothing was ever written to it."""
        return os.fstat(self._file).st_size == 0

    def append(self, event: Event) -> None:
        """Writes one line. Raises `SynthError` when the disk is full."""
        payload = _encode(event)
        line = b"%08x %s\n" % (zlib.crc32(payload), payload)
        with accessing(self.path):
            while line:
                line = line[os.write(self._file, line) :]

    def close(self, *, discard: bool = False) -> None:
        """Gives the shard free; `discard` after its commit."""
        try:
            with accessing(self.path):
                if discard:
                    self.path.unlink(missing_ok=True)
        finally:
            os.close(self._file)


def free_journal(folder: Path, name: str) -> Journal:
    """A journal of a shard that several processes of this machine may be at: the first that none of
    them has.
    """
    for number in count():
        with contextlib.suppress(BusyError):
            return Journal(folder / f"{name}{f'.{number}' if number else ''}.jsonl")
    raise AssertionError("count() does not end")


def discard_finished(folder: Path, stage_key: str) -> None:
    """Removes what a stage that is done has journaled: a process that dies between a commit and
    this leaves its journal behind.
    """
    for path in folder.glob(f"{stage_key}-*.jsonl"):
        with contextlib.suppress(BusyError):
            Journal(path).close(discard=True)


def _locked(path: Path) -> int:
    """A file descriptor that holds the lock of the file that lies at `path` now (not of one removed
    while we waited).
    """
    while True:
        with accessing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        if not try_lock(file, fcntl.LOCK_EX):
            os.close(file)
            raise BusyError(str(path))
        if path.exists() and os.fstat(file).st_ino == path.stat().st_ino:
            return file
        os.close(file)


def try_lock(file: int, kind: int) -> bool:
    """Locks an open file (`fcntl.LOCK_EX`, `LOCK_SH`); False where another process holds it."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def recorded(place: Path, slots: set[str] | None = None) -> tuple[Events, list[str]]:
    """All events of a journal, or of those in a folder, of the given slots or of all; and one line
    per damaged file.
    """
    events: Events = {}
    damage: list[str] = []
    for path in [place] if place.is_file() else sorted(place.glob("*.jsonl")):
        try:
            with accessing(path, may_lack=True):
                *lines, torn = path.read_bytes().split(b"\n")
        except FileNotFoundError:  # committed and removed by another process meanwhile
            continue
        damaged = []
        for number, line in enumerate(lines, start=1):
            event = _event(line)
            if event is None and line:
                damaged.append(number)
            elif event is not None and (slots is None or event.slot_id in slots):
                events.setdefault((event.slot_id, event.attempt), []).append(event)
        if damaged or torn:
            damage.append(_damage(path, damaged, torn=bool(torn)))
    return events, damage


def _damage(path: Path, damaged: list[int], *, torn: bool) -> str:
    """One line for all that is wrong with one journal."""
    parts = []
    if damaged:
        more = f" and {len(damaged) - 1} more are damaged" if len(damaged) > 1 else " is damaged"
        parts.append(f"line {damaged[0]}{more}")
    if torn:
        parts.append("ends in a half-written line")
    calls = "calls that they held are" if len(damaged) + torn > 1 else "call that it held is"
    return f"{path}: {', and it '.join(parts)}; the {calls} made again"


def _event(line: bytes) -> Event | None:
    checksum, _, payload = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(payload):
        return None
    try:
        return _DECODER.decode(payload)
    except msgspec.MsgspecError:
        return None


def state_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where journals lie: $SYNTH_STATE_DIR, else $XDG_STATE_HOME/synth, else
    ~/.local/state/synth.
    """
    variables = os.environ if environment is None else environment
    if variables.get("SYNTH_STATE_DIR"):
        return Path(variables["SYNTH_STATE_DIR"])
    base = variables.get("XDG_STATE_HOME")
    return Path(base, "synth") if base else Path.home() / ".local" / "state" / "synth"
