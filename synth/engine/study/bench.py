"""One shard of a method under way: what is shared by its units, and what came of them so far."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from synth.engine.asking import RoleClient
from synth.engine.context import Role, Run
from synth.engine.study.continuations import Continuations
from synth.engine.study.player import Player
from synth.ledger.ledger import Score, StageRef
from synth.ledger.log.state import evidence_key
from synth.ledger.tables.role_reply import RoleReply
from synth.ledger.tables.row_validation import ended_line
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.side_by_side import run_workers

T = TypeVar("T")
OF_ALL = ""
"""Whose replies are about all units of the shard."""
ASKED_AT_ONCE = 64
"""Questions under way where no episodes are played, which have places of their own."""


@dataclass
class Bench:
    """All that is to be committed goes here: episodes in sight of the flow (`seen`) and kept
    `apart`, rows, replies with the unit that each was asked for; `left` are units left to a rerun.
    """

    run: Run
    shard: str
    stage_key: str
    cast: Player | None
    seen: list[Trajectory] = field(default_factory=list)
    apart: list[Trajectory] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    replies: list[tuple[str, RoleReply]] = field(default_factory=list)
    left: set[str] = field(default_factory=set)
    _clients: dict[str, RoleClient] = field(default_factory=dict)
    _trials: dict[str, Trajectory] = field(default_factory=dict)

    @property
    def player(self) -> Player:
        """Who plays. Raises `ValueError` for a method that plays nothing."""
        if self.cast is None:
            raise ValueError("this method has no role that plays")
        return self.cast

    @cached_property
    def shared(self) -> Continuations:
        """The continuations of the shard, each played once."""
        return Continuations(self.run, self.shard)

    def client(self, name: str, role: Role) -> RoleClient:
        """Who asks a role of the flow for this shard."""
        if name not in self._clients:
            self._clients[name] = RoleClient(self.run, self.shard, name, role)
        return self._clients[name]

    def trials(self, ids: Collection[str]) -> Mapping[str, Trajectory]:
        """Recorded trajectories by id, in the order of the ledger."""
        wanted = set(ids) - self._trials.keys()
        found = self.run.ledger.trajectories(wanted) if wanted else ()
        self._trials |= {trial.trajectory_id: trial for trial in found}
        return {identity: one for identity, one in self._trials.items() if identity in ids}

    def tasks(self, trials: Collection[Trajectory]) -> Mapping[str, Task]:
        """The tasks of trials, by id; without those that the ledger lacks."""
        return self.run.ledger.tasks({trial.task_id for trial in trials})

    async def each(self, items: Sequence[T], job: Callable[[T], Awaitable[None]]) -> None:
        """Does the job for all items, as many under way as there are places."""
        waiting = iter(items)

        async def worker() -> None:
            for item in waiting:
                await job(item)

        most = ASKED_AT_ONCE if self.cast is None else self.cast.places.limit
        await run_workers(min(most, len(items)), worker)

    def commit(self, ref: StageRef) -> None:
        """Commits what there is; the shard is done where nothing is left to a rerun.

        The journal of a stopped run outlives it and gives the replies of open units once more: they
        are paid once.
        """
        ledger, stopped, whole = self.run.ledger, self.run.stopped is not None, not self.left
        ended = []
        if self.apart:
            apart = StageRef(ref.stage, evidence_key(ref.stage_key))
            ended += ledger.commit(apart, trajectories=self.apart)
        open_ = self.left | ({OF_ALL} if self.left else set()) if stopped else set()
        replies = [one for unit, one in self.replies if unit not in open_]
        if whole or self.seen or self.scores or replies:
            ended += ledger.commit(
                ref,
                trajectories=self.seen,
                scores=self.scores,
                replies=replies,
                name=self.shard if whole else "",
            )
        for attempt in ended:
            self.run.progress.say(ended_line(attempt))
