"""A run, open for reading: its tables as frames and in SQL, its tasks and trajectories."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from synth.ledger import StoredLedger
from synth.ledger.log.lost_shards import lost_lines
from synth.schemas import ConfigError, Outcome, Task, Trajectory

if TYPE_CHECKING:
    import duckdb
    import polars

    from synth.ledger.typed import Read

L = TypeVar("L")


class Ledger:
    """What a run holds, as it stood when it was opened, or last given to a function that writes.
    Nothing here writes.
    """

    def __init__(self, stored: StoredLedger) -> None:
        self._stored = stored

    @property
    def run_dir(self) -> str:
        """Where the run lies: a path or a URL."""
        return self._stored.storage.url

    @property
    def lost(self) -> tuple[str, ...]:
        """A line per shard whose files are gone: which, what it held, what to do."""
        return tuple(lost_lines(self._stored.state))

    def frame(self, table: str, *, every: bool = False) -> "polars.LazyFrame":
        """A table's rows of the current flow, or of `every` flow that ran here; read when it is
        collected.

        Raises `ConfigError` for an unknown table, and `SynthError` where a file has other bytes
        than were committed.
        """
        return self._stored.frame(table, every=every)

    def sql(self, query: str) -> "duckdb.DuckDBPyRelation":
        """What DuckDB answers to one question: `.pl()`, `.df()`, `.arrow()`, `.fetchall()`.

        Each table is there as it is of the current flow, and as `<table>_all` with the rows of
        former ones. The
        connection reads this run's files and nothing else. Raises `ConfigError` for what is no
        question.
        """
        from synth.ledger.sql import relation

        return relation(self._stored, query)

    def rows(self, query: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """The same answer as names of columns, and rows, a thousand in memory at a time."""
        from synth.ledger.sql import answered
        from synth.ledger.sql import query as ask

        answer = ask(self._stored, query)

        def fetched() -> Iterator[tuple[Any, ...]]:
            while rows := answered(answer, lambda: answer.fetchmany(1000)):
                yield from rows

        return [column[0] for column in answer.description or []], fetched()

    def trajectories(
        self, *, outcome: str | None = None, synthesizer: str | None = None
    ) -> Iterator[Trajectory]:
        """The current flow's trajectories, all attempts, one shard in memory at a time. Raises
        `ConfigError`.
        """
        known = [one.value for one in Outcome]
        if outcome is not None and outcome not in known:
            raise ConfigError(
                f"outcome {outcome!r}: there is none of this name; known: {', '.join(known)}"
            )
        if outcome is None and synthesizer is None:
            return self._stored.trajectories()
        wanted = {
            row["trajectory_id"]
            for row in self._stored.records()
            if outcome in (None, row["outcome"]) and synthesizer in (None, row["synthesizer"])
        }
        return self._stored.trajectories(wanted)

    def labels(self, kind: type[L]) -> "Iterator[Read[L]]":
        """The current flow's labels of a kind, such as `StepLabel`: each with `subject_id`, `turn`,
        `metric`, `value`, and the label itself as `about`.
        """
        from synth.ledger.typed import labels

        return labels(self._stored, kind)

    def measures(self, metric: str, kind: type[L]) -> "Iterator[Read[L]]":
        """The current flow's rows of a metric, in the same form; `kind` is the struct that the
        writer of the metric gives, or `dict`.
        """
        from synth.ledger.typed import read

        return read(self._stored, kind, [metric])

    def task(self, task_id: str) -> Task:
        """One task, of any flow that ran here. Raises `ConfigError` where there is none with this
        id.
        """
        found = self._stored.tasks([task_id], every=True)
        if task_id not in found:
            raise ConfigError(
                f"{task_id!r} names no task in {self.run_dir}; ledger.frame('tasks', every=True) "
                "lists them"
            )
        return found[task_id]

    def trajectory(self, id_prefix: str) -> Trajectory:
        """One trajectory by its id or the beginning of it, of any flow that ran here. Raises
        `ConfigError`.
        """
        return self._stored.trajectory(id_prefix)

    def __repr__(self) -> str:
        valid = len(self._stored.state.current_valid())
        return f"<Ledger of {self.run_dir}: {valid:,} valid trajectories>"


def open_ledger(run_dir: Path | str) -> Ledger:
    """Opens a run for reading, and warns of each shard whose files are gone.

    Raises `ConfigError` where there is no run, and `SynthError` where its manifest is damaged;
    never creates anything.
    """
    ledger = Ledger(StoredLedger(str(run_dir)))
    for line in ledger.lost:
        warnings.warn(line, stacklevel=2)
    return ledger


def stored(run: Ledger | Path | str) -> StoredLedger:
    """The ledger itself, read up to now: for what also writes. Raises as `open_ledger` does."""
    if not isinstance(run, Ledger):
        return StoredLedger(str(run))
    run._stored.refresh()
    return run._stored
