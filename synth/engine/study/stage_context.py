"""A stage of a run as its method sees it: its rows in the ledger, and the recorded trials that it
works on.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import msgspec

from synth.engine.context import Role, Run
from synth.engine.numbers import counted_noun
from synth.ledger.log.stage_keys import evidence_key
from synth.ledger.log.state import IMPORT, SlotState
from synth.ledger.typed import Read, committed
from synth.ledger.views import connect
from synth.schemas import Outcome, Task, Trajectory, content_hash

T = TypeVar("T")
BASE = "rollout"
"""The synthesizer of base trials."""

_COST = """
SELECT count(*) FILTER (an_episode),
  sum(coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0)), sum(cost_usd)
FROM (
  SELECT true AS an_episode, stage_key, prompt_tokens, completion_tokens, cost_usd
  FROM trajectories_all
  UNION ALL
  SELECT false, stage_key, prompt_tokens, completion_tokens, cost_usd FROM replies_all
)
WHERE stage_key IN (SELECT unnest(?))
"""


@dataclass
class StageContext:
    """One stage of a run; the `stage_key` is empty while the engine reads its inputs."""

    run: Run
    name: str
    stage_key: str

    def rows(self, kind: type[T], *metrics: str, hidden: bool = False) -> list[Read[T]]:
        """The stage's own rows of these metrics in the order of their commits, or its `hidden`
        ones, which no view of the flow shows.
        """

        key = evidence_key(self.stage_key) if hidden else self.stage_key
        return list(committed(self.run.ledger, key, kind, metrics))

    def select(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Queries the views of the current flow."""
        with connect(self.run.ledger) as connection:
            return connection.execute(sql, list(values)).fetchall()

    def trajectories(self) -> set[str]:
        """The valid trajectories that this stage has committed."""
        return self.run.ledger.state.trajectories_of(self.stage_key)

    def task_ids(self) -> Mapping[str, str]:
        """The current flow's tasks: id -> environment."""
        return self.run.ledger.task_ids()

    def tasks(self, ids: Collection[str], *, every: bool = False) -> Mapping[str, Task]:
        """Tasks by id, of the current flow, or of any flow that ran here (`every`)."""
        return self.run.ledger.tasks(ids, every=every)

    def slot(self, slot_id: str) -> SlotState | None:
        """The state of a slot; None where it was never tried."""
        return self.run.ledger.state.slots.get(slot_id)

    @property
    def committed(self) -> bool:
        """Whether the stage has committed anything."""
        return any(one.stage_key == self.stage_key for one in self.run.ledger.state.shards)

    @property
    def finished(self) -> bool:
        """Whether the stage ran to its end."""
        return (self.name, self.stage_key) in self.run.ledger.state.done

    def has(self, shard: str) -> bool:
        """Whether a shard of the stage is committed whole."""
        keys = self.stage_key, evidence_key(self.stage_key)
        return any((key, shard) in self.run.ledger.state.named for key in keys)

    def report_of(self, stage: str) -> Mapping[str, Any] | None:
        """The report of another stage of the flow; None before that is done."""
        state = self.run.ledger.state
        line = state.stages.get(stage)
        return None if line is None else state.done.get((stage, line.stage_key))

    def cost(self) -> Mapping[str, Any]:
        """Episodes, tokens and money of the stage so far, in all runs, questions to roles
        included.
        """

        keys = [self.stage_key, evidence_key(self.stage_key)]

        ((episodes, tokens, dollars),) = self.select(_COST, keys)
        return {"episodes": episodes, "tokens": int(tokens or 0), "usd": dollars}


def cost_line(cost: Mapping[str, Any], count: int, noun: str) -> str:
    """One line, such as "cost: 12 episodes, 3,400 tokens, $0.02"."""
    dollars = "" if cost["usd"] is None else f", ${cost['usd']:.2f}"
    return f"cost: {counted_noun(count, noun)}, {cost['tokens']:,} tokens{dollars}"


class Trial(msgspec.Struct, frozen=True):
    """A base trial without its turns."""

    trajectory_id: str
    task_id: str
    outcome: str
    imported: bool


class Trials:
    """Trials of a run, selected by their columns; iterating reads their turns, one trial at a
    time.
    """

    def __init__(self, stage: StageContext, rows: Sequence[Trial]) -> None:
        self._stage = stage
        self.rows = rows

    def failures(self) -> "Trials":
        """The trials that failed."""
        return Trials(self._stage, self.rows_of(Outcome.FAILURE))

    def successes(self) -> "Trials":
        """The trials that passed."""
        return Trials(self._stage, self.rows_of(Outcome.SUCCESS))

    def rows_of(self, *outcomes: Outcome) -> list[Trial]:
        """The trials with one of these outcomes, without their turns."""
        return [row for row in self.rows if row.outcome in outcomes]

    def sample(self, count: int, *, by: Literal["task"] | None = None) -> "Trials":
        """Draws at most so many trials, or so many of each task, by the flow's seed."""
        seed = self._stage.run.flow.seed
        order = sorted(self.rows, key=lambda one: content_hash([seed, one.trajectory_id]))

        groups: dict[str, list[str]] = defaultdict(list)
        for row in order:
            groups[row.task_id if by == "task" else ""].append(row.trajectory_id)

        drawn = {one for group in groups.values() for one in group[:count]}

        return Trials(self._stage, [row for row in self.rows if row.trajectory_id in drawn])

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Trajectory]:
        wanted = {row.trajectory_id for row in self.rows}
        return iter(self._stage.run.ledger.trajectories(wanted) if wanted else ())


def base_trials(stage: StageContext, env: str, role_name: str, role: Role) -> Trials:
    """The valid base trials that the current flow has of a role, and imported ones; those of a task
    side by side.
    """

    sql = """
        SELECT trajectory_id, task_id, outcome, synthesizer = ? FROM trajectories
        WHERE outcome <> 'invalid' AND (synthesizer = ? OR (
            synthesizer = ? AND env = ? AND role = ? AND policy = ? AND model IS NOT DISTINCT FROM ?
        ))
        ORDER BY task_id, trial, trajectory_id
    """
    values = (IMPORT, IMPORT, BASE, env, role_name, role.policy.name, role.policy.model)
    return Trials(stage, [Trial(*row) for row in stage.select(sql, *values)])
