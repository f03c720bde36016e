"""The shell of a flow.yaml, and the stages that it names; what stands inside a stage or a model is
validated by the part that it names (flows/resolve).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
from pydantic import BaseModel, ConfigDict, Field, field_validator

MOST_TASKS = 1_000_000
"""Tasks of one run: they are made, and their slots planned, in memory."""
MOST_EPISODES = 200
"""Of a calibration: what it costs beside the run itself."""


class Difficulty(BaseModel):
    """The share of episodes that the policy of the role `against` is to pass; at most `episodes`
    are played to find the level for it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    target_pass_rate: float = Field(gt=0, lt=1)
    against: str = "explorer"
    episodes: int = Field(default=MOST_EPISODES, ge=40, le=MOST_EPISODES)


class EnvChoice(BaseModel):
    """Which world, how many tasks, and how hard they are to be; every other key is the world's own
    setting.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str
    tasks: int = Field(default=10, ge=0, le=MOST_TASKS)
    difficulty: Difficulty | None = None

    def settings(self) -> dict[str, Any]:
        """The keys that belong to the world itself."""
        return dict(self.model_extra or {})


class StageChoice(BaseModel):
    """One stage by name, with its settings as written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    settings: Any = None


class Flow(BaseModel):
    """A flow.yaml: the only argument of a flow. Unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(max_length=100)
    seed: int = Field(default=0, ge=-(2**63), lt=2**63)
    env: EnvChoice | None = None
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)
    stages: tuple[StageChoice, ...] = ()
    max_cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_tokens: int | None = Field(default=None, gt=0, lt=2**63)
    max_hours: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_live_worlds: int | None = Field(default=None, ge=1)
    max_world_memory_gib: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    lease_s: float = Field(default=60, ge=1, le=86_400)

    @field_validator("name")
    @classmethod
    def _names_a_folder(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", value):
            raise ValueError(
                "a folder is called after it, so it has letters, digits, '.', '_' and '-', and "
                "begins with a letter or digit"
            )
        return value

    @field_validator("stages", mode="before")
    @classmethod
    def _name_or_mapping(cls, value: Any) -> Any:
        """A stage is a name, or {name: settings}; written down again it is {name: ..., settings:
        ...}.
        """
        if not isinstance(value, list):
            return value
        return [_stage(index, entry) for index, entry in enumerate(value)]


def _stage(index: int, entry: Any) -> Any:
    match entry:
        case str():
            return {"name": entry}
        case StageChoice():
            return entry
        case {"name": _, "settings": _} if len(entry) == 2:
            return entry
        case dict() if len(entry) == 1:
            ((name, settings),) = entry.items()
            return {"name": name, "settings": settings}
        case dict() if entry:
            first, *others = map(str, entry)
            raise ValueError(
                f"entry {index} has {len(entry)} keys; indent {', '.join(others)} deeper if they "
                f"are settings of {first}"
            )
    raise ValueError(f"entry {index} is neither a stage's name nor {{name: {{settings}}}}")


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
