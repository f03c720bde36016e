"""Imported trajectories into a ledger, file by file: a file comes in whole or not at all, and what
is there already stays as it is.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from stat import S_ISREG

from synth.engine.progress import Progress
from synth.importers.labels import LabelJoin, scores
from synth.importers.load import Opened, opened
from synth.importers.records import (
    WHOLE,
    Entry,
    Format,
    Imported,
    ImportSettings,
    Labelled,
    Rejection,
    Replaced,
)
from synth.importers.synth_run import StoredRun
from synth.importers.tally import FileTally, ImportTally
from synth.ledger.ledger import Ledger, Score, StageRef
from synth.ledger.log.manifest import ImportedFile, ImportLine, ShardLine
from synth.ledger.log.state import IMPORT
from synth.ledger.tables.row_validation import ended_line
from synth.ledger.tables.rows import Records
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory

SHARD = 500
_SHARD_TURNS = 20_000
"""A shard ends at either: long trajectories must not fill the memory."""
_MEGABYTE = 1_000_000


class _Rows:
    """Rows of one shard while they are gathered."""

    def __init__(self) -> None:
        self.trajectories: list[Trajectory] = []
        self.tasks: dict[str, Task] = {}
        self.scores: list[Score] = []
        self.turns = 0

    def add(self, entry: Imported) -> None:
        self.trajectories.append(entry.trajectory)
        self.tasks[entry.task.task_id] = entry.task
        self.scores += scores(entry.trajectory.trajectory_id, entry.marks)
        self.turns += len(entry.trajectory.turns)

    def take(self, other: "_Rows") -> None:
        self.trajectories += other.trajectories
        self.tasks |= other.tasks
        self.scores += other.scores
        self.turns += other.turns

    @property
    def full(self) -> bool:
        return len(self.trajectories) >= SHARD or self.turns >= _SHARD_TURNS


class Import:
    """One run of `synth import`. The ledger is made when the first file is committed, and never in
    a dry run.
    """

    def __init__(self, run: str, say: Callable[[str], None], *, dry_run: bool = False) -> None:
        self._dry_run = dry_run
        self._say = say
        self._ledger = Ledger(run, may_be_empty=True)
        self._wrote = False
        self._labels = LabelJoin()
        self._whole = _Rows()
        self._files: list[ImportedFile] = []
        self.tally = ImportTally()

    @property
    def root(self) -> Path | None:
        """Where the run lies on this machine."""
        storage = self._ledger.storage
        return Path(storage.root).resolve() if storage.local else None

    def known(self) -> dict[int, set[str]]:
        """The files imported before, hashes by size."""
        sizes: dict[int, set[str]] = {}
        for file in self._ledger.state.imported.values():
            sizes.setdefault(file.bytes, set()).add(file.sha)
        return sizes

    def refuse(self, rejection: Rejection) -> None:
        """A file that cannot be opened, or a folder."""
        refused = FileTally()
        refused.reject(rejection)
        self.tally.take(refused)

    def take(self, opened: Opened, tick: Callable[[float], None]) -> None:
        """Reads a file and commits it, alone if it is larger than a shard, else together with
        others; `tick` is told the share read.
        """
        tally, own, written = FileTally(), _Rows(), list[ShardLine]()
        try:
            for entry in opened.entries:
                if isinstance(entry, Rejection) and entry.locator == WHOLE:
                    self._ledger.discard(written)
                    self._labels.forget(opened.file.name)
                    self.refuse(entry)
                    return
                self._read(entry, opened.file.name, tally, own)
                tick(opened.file.share_read())
                if own.full:
                    written += self._written(own, tally)
                    own = _Rows()
        except BaseException:
            self._ledger.discard(written)
            raise
        file = opened.file
        note = ImportedFile(file.name, file.sha, file.size, tally.trajectories, dict(tally.reasons))
        if written:
            written += self._written(own, tally)
            self.tally.take(tally)
            self._commit([note], written)
            return
        self.tally.take(tally)
        self._whole.take(own)
        if tally.trajectories:
            self._files.append(note)
        if self._whole.full or isinstance(
            file, StoredRun
        ):  # a copy of the run, grown, may come next: it must find what is there
            self._flush()

    def _read(self, entry: Entry, file: str, tally: FileTally, own: _Rows) -> None:
        if isinstance(entry, Rejection):
            tally.reject(entry)
        elif isinstance(entry, Labelled):
            self._labels.keep(entry)
        elif isinstance(entry, Replaced):
            tally.replaced.append(entry)
        else:
            self._labels.saw(entry, file)
            if entry.trajectory.slot_id in self._ledger.state.slots:
                tally.present(entry.trajectory)
            else:
                tally.add(entry.trajectory, len(entry.marks))
                own.add(entry)

    def finish(self) -> None:
        """Commits what is left, and the labels of files of their own."""
        self._flush()
        if self._wrote and not self._ledger.state.lines:
            self._ledger.storage.prune()
        for found in self._labels.joined():
            if isinstance(found, Rejection):
                self.tally.reject(found)
                continue
            label, rows = found
            ref = StageRef(IMPORT, content_hash(["labels", label.sha, label.locator]))
            name = f"labels:{label.locator}"
            if (ref.stage_key, name) in self._ledger.state.named:
                continue
            self.tally.marks += len(rows)
            if not self._dry_run:
                self._ledger.commit(ref, scores=rows, name=name)

    def _flush(self) -> None:
        rows, files = self._whole, self._files
        self._whole, self._files = _Rows(), []
        if rows.trajectories:
            self._commit(files, self._written(rows, self.tally))

    def _written(self, rows: _Rows, tally: FileTally) -> list[ShardLine]:
        """The rows as a shard that is not committed yet; its key is the hash of what it holds."""
        if not rows.trajectories or self._dry_run:
            return []
        ref = StageRef(
            IMPORT, content_hash([trajectory.slot_id for trajectory in rows.trajectories])
        )
        self._wrote = True
        tasks = list(rows.tasks.values())
        records: Records = {
            "trajectories": rows.trajectories,
            "tasks": tasks,
            "scores": rows.scores,
        }
        line, ended = self._ledger.write_shard(ref, records)
        for before, now in ended:
            tally.end(before, now)
            self._say(ended_line(now))
        return [line]

    def _commit(self, files: Sequence[ImportedFile], shards: Sequence[ShardLine]) -> None:
        if shards:
            self._ledger.commit_import(ImportLine(tuple(files), tuple(shards)))


def import_into(
    run: str,
    sources: Sequence[Path],
    form: str | Format,
    progress: Progress,
    settings: ImportSettings | None = None,
    *,
    dry_run: bool = False,
) -> ImportTally:
    """Reads sources into a run directory (made where there is none). Raises `ConfigError` before
    anything is made.
    """
    work = Import(run, progress.say, dry_run=dry_run)
    found = opened(sources, format=form, settings=settings, known=work.known())
    _refuse_own(work.root, sources)
    total = sum(
        _size(path)
        for source in sources
        for path in (source.rglob("*") if source.is_dir() else [source])
    )
    progress.start("import", round(total / _MEGABYTE), "MB")
    meter = _Meter(progress)
    try:
        for file in found:
            if isinstance(file, Rejection):
                work.refuse(file)
            else:
                work.take(file, meter.within(_size(file.path) or file.file.size))
        work.finish()
    finally:
        progress.stop()
    return work.tally


def _refuse_own(root: Path | None, sources: Sequence[Path]) -> None:
    """Raises `ConfigError` where the run lies in a source: its own files would be read."""
    for source in sources:
        if root is not None and source.resolve() in (root, *root.parents):
            raise ConfigError(
                f"{source}: holds the run {root} that it is to be imported into; name a run "
                "elsewhere"
            )


def _size(path: Path) -> int:
    """Bytes of a file; 0 of anything else, and where that cannot be told: reading it says why."""
    try:
        state = path.stat()
    except OSError:
        return 0
    return state.st_size if S_ISREG(state.st_mode) else 0


class _Meter:
    """Bytes of the sources as steps of a megabyte."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._before = 0.0
        self._said = 0

    def within(self, size: int) -> Callable[[float], None]:
        """What to tell while a file of this size is read: the share of it that is."""
        start, self._before = self._before, self._before + size

        def tick(share: float) -> None:
            now = int((start + share * size) / _MEGABYTE)
            if now > self._said:
                self._progress.step(now - self._said)
                self._said = now

        return tick
