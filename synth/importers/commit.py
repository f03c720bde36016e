"""Imported trajectories into a ledger, file by file: a file comes in whole or not at all, and what
is there already stays as it is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from stat import S_ISREG

from synth.engine.progress import Progress
from synth.importers.files.decompression import Unpacked
from synth.importers.gathered import Gathered
from synth.importers.interchange.synth_run import StoredRun
from synth.importers.labelling.annotation_files import annotation_files
from synth.importers.labelling.beside import Labels, labels_for
from synth.importers.labelling.joined import joined, scores
from synth.importers.labelling.scores import ScoreVerdicts
from synth.importers.load import Opened, entries_of, opened
from synth.importers.records import WHOLE, Entry, Format, Imported, ImportSettings, Rejection
from synth.importers.tally import ImportTally, unfound
from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import ImportedFile, ImportLine
from synth.ledger.log.state import IMPORT
from synth.ledger.tables.row_validation import ended_line
from synth.ledger.tables.rows import Records
from synth.schemas import ConfigError, Trajectory, content_hash

_MEGABYTE = 1_000_000


class Import:
    """One run of `synth import`. The ledger is made when the first file is committed, and never in
    a dry run.
    """

    def __init__(
        self,
        run: str,
        progress: Progress,
        *,
        dry_run: bool = False,
        labels: Labels | None = None,
        scores: ScoreVerdicts | None = None,
    ) -> None:
        self._dry_run = dry_run
        self._labels = labels
        self._scores = scores
        self._progress = progress
        self._bytes = 0.0
        self._told = 0
        self._wrote = False
        self._whole = Gathered()
        self._files: list[ImportedFile] = []
        self.ledger = StoredLedger(run, may_be_empty=True)
        self.tally = self._whole.tally
        if labels is not None:
            self.tally.labels = labels.matches
            for rejection in labels.rejections:
                self.tally.reject(rejection)

    def refuse(self, rejection: Rejection) -> None:
        """A file that cannot be opened, or a folder."""
        self.tally.files += 1
        self.tally.reject(rejection)

    def take(self, opened: Opened) -> None:
        """Reads a file; it is committed with others once there is a shard of them."""
        file, own = opened.file, Gathered()
        before, on_disk = self._bytes, _size(opened.path) or opened.file.size
        self._bytes += on_disk

        try:
            for entry in opened.entries:
                if isinstance(entry, Rejection) and entry.locator == WHOLE:
                    self.ledger.discard(own.shards)
                    self.refuse(entry)
                    if isinstance(file, Unpacked) and file.verdicts:
                        self.tally.verdict_files.append(opened.path)
                    return

                if isinstance(entry, Imported):
                    entry = self._judged(entry)
                own.take(entry, self.ledger.state.slots)
                self._step(before + on_disk * file.read / max(1, file.size))
                if own.full:
                    self._write(own)
        except BaseException:
            self.ledger.discard(own.shards)
            raise

        self._take_over(file, own)

    def _take_over(self, file: Unpacked | StoredRun, own: Gathered) -> None:
        """Takes what a whole file gave."""
        if isinstance(file, Unpacked) and file.seen:
            own.tally.seen[file.seen] += 1
            own.tally.columns |= file.columns
        reasons = dict(own.tally.reasons)
        if own.count:
            note = ImportedFile(file.name, file.sha, file.size, own.count, reasons)
            self._files.append(note)

        self._whole.add(own)
        # a copy of a run, grown, may come next: it must find what is there
        if own.shards or self._whole.full or isinstance(file, StoredRun):
            self._commit()

    def _step(self, read: float) -> None:
        """Shows how many bytes were read so far, in megabytes."""
        now = int(read / _MEGABYTE)
        if now > self._told:
            self._progress.step(now - self._told)
            self._told = now

    def finish(self) -> None:
        """Commits what is left, and the labels of files of their own."""
        self._commit()
        if self._wrote and not self.ledger.state.lines:
            self.ledger.storage.prune()

        for found in joined(self._whole.named, self._whole.labels):
            if isinstance(found, Rejection):
                self.tally.reject(found)
                continue

            label, rows = found
            place = label.record.locator
            ref = StageRef(IMPORT, content_hash(["labels", label.record.sha, place]))
            if (ref.stage_key, f"labels:{place}") in self.ledger.state.named:
                continue

            self.tally.marks += len(rows)
            if not self._dry_run:
                self.ledger.commit(ref, scores=rows, name=f"labels:{place}")

    def _judged(self, entry: Imported) -> Imported:
        """An attempt with its label, and the verdict that its score says."""
        entry = entry if self._labels is None else self._labels.on(entry)
        return entry if self._scores is None else self._scores.on(entry)

    def _commit(self) -> None:
        """One line of the manifest for all files that are whole, and everything in them."""
        self._write(self._whole)
        files, shards = self._files, self._whole.shards
        self._files, self._whole.shards = [], []
        if shards:
            self.ledger.commit_import(ImportLine(tuple(files), tuple(shards)))

    def _write(self, gathered: Gathered) -> None:
        """The rows as a shard that is not committed yet; its key is the hash of what it holds."""
        rows, gathered.rows, gathered.turns = gathered.rows, [], 0
        given = [entry.trajectory for entry in rows]
        ended: dict[str, Trajectory] = {}
        if rows and not self._dry_run:
            self._wrote = True
            tasks = {entry.task.task_id: entry.task for entry in rows}
            marks = [
                score for one in rows for score in scores(one.trajectory.trajectory_id, one.marks)
            ]
            records: Records = {
                "trajectories": given,
                "tasks": list(tasks.values()),
                "scores": marks,
            }
            ref = StageRef(IMPORT, content_hash([trajectory.slot_id for trajectory in given]))
            line, changed = self.ledger.write_shard(ref, records)
            gathered.shards.append(line)

            ended = {before.slot_id: now for before, now in changed}
            for now in ended.values():
                self._progress.say(ended_line(now))

        for entry in rows:
            trajectory = entry.trajectory
            gathered.tally.add(entry, ended.get(trajectory.slot_id, trajectory))


def import_into(
    run: str,
    sources: Sequence[Path],
    form: str | Format,
    progress: Progress,
    settings: ImportSettings | None = None,
    *,
    dry_run: bool = False,
    labels: Sequence[Path] = (),
    label_key: re.Pattern[str] | None = None,
) -> ImportTally:
    """Reads sources into a run directory (made where there is none), with the `labels` that lie
    beside them: these need to know every trajectory first, so that sources are read twice. Raises
    `ConfigError` before anything is made.
    """
    stated = settings or ImportSettings()
    beside = dict.fromkeys((*labels, *annotation_files(sources)))
    found = labels_for(sources, form, stated, list(beside), label_key)
    verdicts = ScoreVerdicts(lambda: _labelled(entries_of(sources, form, stated), found), stated)
    work = Import(run, progress, dry_run=dry_run, labels=found, scores=verdicts)
    known = {(file.bytes, file.sha) for file in work.ledger.state.imported.values()}
    files = opened(sources, format=form, settings=settings, known=known)
    _refuse_own(work.ledger, sources)
    progress.start("import", round(sum(map(_below, sources)) / _MEGABYTE), "MB")

    try:
        for one in files:
            if isinstance(one, Rejection):
                work.refuse(one)
            else:
                work.take(one)

        work.finish()
    finally:
        progress.stop()

    work.tally.verdicts = tuple(verdicts.notes())
    work.tally.unfound = tuple(unfound(stated.columns, work.tally.columns))
    return work.tally


def _labelled(entries: Iterable[Entry], labels: Labels | None) -> Iterator[Entry]:
    """Entries with the labels that lie beside them."""
    for entry in entries:
        yield labels.on(entry) if labels and isinstance(entry, Imported) else entry


def _refuse_own(ledger: StoredLedger, sources: Sequence[Path]) -> None:
    """Raises `ConfigError` where the run lies in a source: its own files would be read."""
    if not ledger.storage.local:
        return

    root = Path(ledger.storage.root).resolve()

    for source in sources:
        if source.resolve() in (root, *root.parents):
            raise ConfigError(
                f"{source}: holds the run {root} that it is to be imported into; name a run "
                "elsewhere"
            )


def _below(source: Path) -> int:
    """Bytes of a source: a file, or all of a folder."""
    return sum(map(_size, source.rglob("*") if source.is_dir() else [source]))


def _size(path: Path) -> int:
    """Bytes of a file; 0 of anything else, and where that cannot be told: reading it says why."""
    try:
        state = path.stat()
    except OSError:
        return 0

    return state.st_size if S_ISREG(state.st_mode) else 0
