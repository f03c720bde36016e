"""A stage of a flow: what it is made of, which shards of work it plans, and how one shard is
done.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

Context = TypeVar("Context", contravariant=True)


class Shard(msgspec.Struct, frozen=True):
    """The unit of scheduling and commit; `name` is a hash of what it holds."""

    name: str
    items: Sequence[Any]


class PlannedSlot(msgspec.Struct, frozen=True):
    """A slot to fill, its task by id only: a plan holds no tasks. `first_attempt` = tries that the
    ledger has already.
    """

    slot_id: str
    task_id: str
    trial: int
    first_attempt: int


class Plan(msgspec.Struct, frozen=True):
    """What is still to do; `adopted` are trajectories that other settings of the stage had made for
    the same slots.

    `at_once` shards are under way at a time. `by_slot`: the items are `PlannedSlot`s, and workers
    take them one by one, so that several may be at one shard; else a shard is taken whole, and
    where one is under way at a time, it may rest on those before it.
    """

    shards: Sequence[Shard]
    adopted: tuple[str, ...] = ()
    units: int = 0
    unit: str = "episodes"
    at_once: int = 4
    by_slot: bool = False


class Stage(Protocol[Context]):
    """One stage, bound to its settings. `name` is unique within the flow; `settings` hold all that
    determines its rows.
    """

    @property
    def name(self) -> str: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...
    def inputs(self, run: Context) -> str: ...
    def plan(self, run: Context, stage_key: str) -> Plan: ...
    async def work(self, run: Context, stage_key: str, shard: Shard) -> None: ...
    def report(self, run: Context, stage_key: str) -> Mapping[str, Any]: ...
