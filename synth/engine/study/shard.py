"""One shard of a stage under way: its trials, clients and episodes, and the results of its
units.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from synth.engine.asking import RoleClient
from synth.engine.context import Role
from synth.engine.study.episodes import ShardEpisodes
from synth.engine.study.player import Player
from synth.engine.study.stage_context import StageContext
from synth.ledger import Decision, Score, StageRef
from synth.ledger.log.stage_keys import evidence_key
from synth.ledger.tables.graph_rows import Edge, Node
from synth.ledger.tables.role_reply import RoleReply
from synth.ledger.tables.row_validation import ended_line
from synth.rollout.episode import EpisodeSpec
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas import PlannedSlot, Task, Trajectory
from synth.side_by_side import run_workers

T = TypeVar("T")
COMMITTED = ("trajectories", "tasks", "decisions", "scores", "nodes", "edges")
"""Kinds of rows of a unit's result, as `StoredLedger.commit` names them; replies are sorted out
first.
"""
OF_ALL = ""
"""The key of results that concern all units of a shard."""
ASKED_AT_ONCE = 64
"""Questions under way at once in a method without a player, whose places would limit them."""


@dataclass
class UnitResult:
    """The results of one unit: rows by the names that `StoredLedger.commit` gives them, and
    trajectories kept `apart`, which the flow never shows. A unit that stays `open` is left to a
    rerun.
    """

    trajectories: list[Trajectory] = field(default_factory=list)
    apart: list[Trajectory] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    replies: list[RoleReply] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    open: bool = False


@dataclass
class ShardContext(StageContext):
    """One shard under way. The results of its units are committed together, in the order in which
    the units were begun; `hidden` from the flow where the shard only prepares the work of another.
    """

    shard: str
    cast: Player | None
    hidden: bool = False
    _results: dict[str, UnitResult] = field(default_factory=dict)
    _clients: dict[str, RoleClient] = field(default_factory=dict)
    _trials: dict[str, Trajectory] = field(default_factory=dict)

    @property
    def player(self) -> Player:
        """The player. Raises `ValueError` for a method that plays nothing."""
        if self.cast is None:
            raise ValueError("this method has no role that plays")
        return self.cast

    @cached_property
    def episodes(self) -> ShardEpisodes:
        """The episodes of the shard, each slot played once."""
        return ShardEpisodes(self.run, self.shard)

    def client(self, name: str, role: Role) -> RoleClient:
        """The client that asks a role of the flow for this shard."""
        if name not in self._clients:
            self._clients[name] = RoleClient(self.run, self.shard, name, role)
        return self._clients[name]

    def trials(self, ids: Collection[str]) -> Mapping[str, Trajectory]:
        """Recorded trajectories by id, in the order of the ledger."""
        wanted = set(ids) - self._trials.keys()
        found = self.run.ledger.trajectories(wanted) if wanted else ()

        self._trials |= {trial.trajectory_id: trial for trial in found}
        return {identity: one for identity, one in self._trials.items() if identity in ids}

    def trials_with_tasks(
        self, ids: Collection[str]
    ) -> tuple[Mapping[str, Trajectory], Mapping[str, Task]]:
        """Recorded trajectories by id, and their tasks by theirs, as far as the ledger has them."""
        trials = self.trials(ids)
        return trials, self.tasks({trial.task_id for trial in trials.values()})

    def able(self, task: Task, capability: str) -> bool:
        """Whether a task's environment has a capability."""
        return capability in self.run.spec_of(task.env, task.env_config).capabilities

    def claimed_slots(self) -> Sequence[PlannedSlot]:
        """The slots of a shard that workers share; those that this worker has claimed come
        first.
        """
        return self.run.hands[self.shard].in_order()

    async def play_in_groups(self, specs: Sequence[EpisodeSpec]) -> None:
        """Plays such slots, and commits them in groups as they end."""
        ref = StageRef(self.name, self.stage_key)
        await self.episodes.played_in_groups(ref, specs, self.player)

    def of(self, unit: str) -> UnitResult:
        """The results of a unit so far."""
        return self._results.setdefault(unit, UnitResult())

    async def each(
        self,
        items: Mapping[str, T],
        job: Callable[[T, UnitResult], Awaitable[None]],
        *,
        at_once: int | None = None,
    ) -> None:
        """Does the job for all items, given by the keys of their units; `at_once` are under way, or
        as many as there are places.
        """

        waiting = iter([(item, self.of(unit)) for unit, item in items.items()])

        async def worker() -> None:
            for item, result in waiting:
                await job(item, result)

        # without a player nothing else bounds the questions under way
        most = at_once or (ASKED_AT_ONCE if self.cast is None else self.cast.places.limit)
        await run_workers(min(most, len(items)), worker)

    async def misfits(self, ids: Collection[str], unfit: "Unfit") -> dict[str, str]:
        """The reasons why some trials cannot be used, by id; a reason that may pass leaves the
        trial open.
        """

        trials, tasks = self.trials_with_tasks(ids)
        found: dict[str, str] = {}

        async def look(trial: Trajectory, result: UnitResult) -> None:
            reason = await unfit(self, trial, tasks.get(trial.task_id))
            if reason is not None:
                found[trial.trajectory_id] = reason
                result.open |= reason.removeprefix("fault:") in RETRIED_BY_A_RERUN

        await self.each(trials, look)
        return {identity: found[identity] for identity in sorted(found)}

    def commit(self, part: str | None = None) -> None:
        """Commits the results so far. The shard is done where no unit is open; a method that works
        in parts names the `part` that is done.

        The journal of a stopped run outlives it and gives the replies of open units once more: the
        run that gets to the end of these units commits and pays for them.
        """

        ledger = self.run.ledger
        results = list(self._results.values())
        some_open = any(result.open for result in results)
        rows: dict[str, list[Any]] = {
            kind: [row for result in results for row in getattr(result, kind)]
            for kind in ("apart", *COMMITTED)
        }

        # of open units they stay in the journal
        rows["replies"] = [
            reply
            for unit, result in self._results.items()
            if self.run.stopped is None or not (result.open or (some_open and unit == OF_ALL))
            for reply in result.replies
        ]

        hidden = StageRef(self.name, evidence_key(self.stage_key))
        apart = rows.pop("apart")

        ended = ledger.commit(hidden, trajectories=apart) if apart else []
        name = part if part is not None else "" if some_open else self.shard
        if name or any(rows.values()):
            ref = hidden if self.hidden else StageRef(self.name, self.stage_key)
            ended += ledger.commit(ref, name=name, **rows)

        self._results.clear()

        for attempt in ended:
            self.run.progress.say(ended_line(attempt))


Unfit = Callable[[ShardContext, Trajectory, Task | None], Awaitable[str | None]]
"""The reason why a trial, whose task may be gone, cannot be used; None where it can."""
