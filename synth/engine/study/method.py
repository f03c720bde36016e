"""A method of collection: a class whose annotated fields are the settings that a flow may give."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, dataclass_transform, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from synth.boundary import guard
from synth.engine.context import Role
from synth.engine.study.player import Player, agent_in, places_for, trial_settings
from synth.engine.study.rebuilding import why_not_replayable
from synth.engine.study.shard import ShardContext
from synth.engine.study.stage_context import StageContext
from synth.ledger import Decision, Score
from synth.ledger.log.state import IMPORT
from synth.schemas import ConfigError, EnvChoice, Flow, Shard, Task, Trajectory, content_hash

SCHEDULING = {"shard", "live", "limits"}
"""Settings that determine no row; the limits in force are part of the key by themselves."""
SHARD = 20
"""The units of a shard, where a method has no setting `shard`."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The place of a method in a flow: the stage's name, the flow and its roles, and the
    environment's `synth.envs.world.EnvEntry`, None where the flow names none.
    """

    name: str
    flow: Flow
    roles: Mapping[str, Role]
    entry: Any = None

    @property
    def env(self) -> EnvChoice:
        """The flow's choice of environment. Raises `ValueError` where it has none."""
        if self.flow.env is None:
            raise ValueError("a method that looks at the environment sets needs_env")
        return self.flow.env

    def start_state(self) -> str | None:
        """The current `EnvEntry.start_state`, None where the settings determine all of it. Raises
        `ConfigError` where it cannot be read.
        """

        what = f"world {self.entry.spec.name!r}: start_state"
        state = self.entry.start_state
        return None if state is None else guard(what, lambda: state(self.env.settings()))


@dataclass_transform(kw_only_default=True, field_specifiers=(Field,))
class Method:
    """A stage of a flow, reduced to its own part; the engine does the rest
    (`synth.engine.study.stage`): the key, resume, shards, adoption, commits, conclusions.

    A subclass writes `units` (all of them, the same ones each time), `play` (what to do with the
    units of one shard) and `report`; and `left`, unless a row of `metric` about a unit's key says
    that it is done. A method with a setting `role` plays as that role, under its setting `limits`
    or those of the flow's rollout.
    """

    method: ClassVar[str] = ""
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "units"
    metric: ClassVar[str] = ""
    needs_env: ClassVar[bool] = False
    by_slot: ClassVar[bool] = False
    """Units are `PlannedSlot`s, which workers claim one by one and commit in groups."""
    concludes_early: ClassVar[bool] = False
    """Whether `finalize` runs although a ceiling stopped the stage for the first time."""
    at_once: ClassVar[int | None] = 4
    """The shards under way at a time; None: as many as keep all places of the player taken."""
    config: ClassVar[type[BaseModel]]
    """Made of the annotated fields, unless a subclass names a model of its own."""
    player: Player
    bound: Bound

    def __init_subclass__(cls) -> None:
        if "config" not in cls.__dict__:
            cls.config = settings_of(cls)

    def __init__(self, **settings: Any) -> None:
        self.settings = self.config(**settings)
        self.__dict__.update(self.settings)

    def bind(self) -> None:
        """Looks up in `bound` what the method needs. Raises `ConfigError` for anything that is
        missing.
        """

    def agents(self) -> Sequence[str]:
        """The roles that act in the environment; the first one plays."""
        return (self.role,) if hasattr(self, "role") else ()

    def cast(self) -> Player | None:
        """The player. Raises `ConfigError` for a role that cannot play."""
        found = [(name, agent_in(self.method, name, self.bound.roles)) for name in self.agents()]
        return self.playing(*found[0]) if found else None

    def playing(self, name: str | None, role: Role) -> Player:
        """A role as this stage plays it."""
        flow = self.bound.flow
        limits = getattr(self, "limits", None) or trial_settings(flow, str(name)).limits
        places = places_for(getattr(self, "live", None), role)
        return Player(name, role, limits, places, flow.seed, self.method)

    def identity(self) -> Mapping[str, Any]:
        """Settings of other objects that determine the rows, beside the method's own and the
        player.
        """
        return {}

    def key_settings(self) -> Mapping[str, Any]:
        """All settings that determine the rows; how they are cut into shards does not."""
        given = self.settings.model_dump(mode="json", exclude=SCHEDULING, by_alias=True)

        # the same act of another policy is other data
        played = self.player.identity() if hasattr(self, "player") else {}
        edition = {"version": self.version} if self.version > 1 else {}
        return {**given, **played, **self.identity(), **edition}

    def inputs(self, stage: StageContext) -> Any:
        """The rows that the stage reads, to be hashed; None where nothing comes before."""
        return None

    def units(self, stage: StageContext) -> Sequence[Any]:
        """All units, the same ones each time: a shard's name, made of them, finds its replies in
        the journal.
        """
        raise NotImplementedError

    def key_of(self, unit: Any) -> Any:
        """Names a unit, in the name of its shard and in the rows about it."""
        return unit

    def left(self, stage: StageContext, units: Sequence[Any]) -> Sequence[Any]:
        """Selects the units that are not done; without a `metric`, all of a shard that is not
        committed.
        """

        if not self.metric:
            return units
        done = {row.subject_id for row in stage.rows(dict[str, Any], self.metric)}
        return [unit for unit in units if self.key_of(unit) not in done]

    def cut(self, units: Sequence[Any]) -> Iterable[Shard]:
        """Cuts all units into shards, named by the keys of their units."""
        size = getattr(self, "shard", SHARD)
        for at in range(0, len(units), size):
            part = units[at : at + size]
            yield Shard(content_hash([self.key_of(unit) for unit in part]), part)

    def todo(self, stage: StageContext) -> Sequence[Shard]:
        """The shards that are not committed whole, with the units that are left of each."""
        units = self.units(stage)
        left = {id(unit) for unit in self.left(stage, units)}
        found = []

        for shard in self.cut(units):
            items = [unit for unit in shard.items if id(unit) in left]

            # what is committed whole is done, whatever its units say
            if items and not stage.has(shard.name):
                found.append(Shard(shard.name, items))

        return found

    def progress_of(self, unit: Any) -> int:
        """The most steps of the progress that a unit takes."""
        return 1

    def shown(self, stage: StageContext) -> Iterable[str]:
        """Trajectories that the flow shows through this stage; those that other settings of it have
        made are adopted.
        """
        return ()

    async def play(self, shard: ShardContext, units: Sequence[Any]) -> None:
        """Does the units of one shard, and adds the results to `shard.of(key)`."""
        raise NotImplementedError

    async def unfit(self, shard: ShardContext, trial: Trajectory, task: Task | None) -> str | None:
        """The reason why a trial cannot be replayed. It asks about imported ones alone: the flow's
        own can.
        """

        if trial.synthesizer != IMPORT:
            return None
        return await why_not_replayable(shard.run, task, trial, shard.player.limits.step_timeout_s)

    def finalize(self, stage: StageContext) -> Sequence[Score | Decision]:
        """Rows that depend on the work of the whole stage; they replace those of former runs."""
        return ()

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """The report for the funnel and the report page: see `method_report`."""
        raise NotImplementedError


M = TypeVar("M", bound=Method)


def settings_of(method: type[Method]) -> type[BaseModel]:
    """Builds the settings model of a method from its annotated fields, without those of
    `Method`.
    """

    hints = get_type_hints(method, include_extras=True)
    own = {
        name: (hint, getattr(method, name, ...))
        for name, hint in hints.items()
        if get_origin(hint) is not ClassVar and name not in Method.__annotations__
    }
    for name in own:
        if callable(getattr(method.__mro__[1], name, None)):
            raise ConfigError(
                f"{method.__name__}.{name}: a setting cannot have the name of a function of the "
                "method; choose another"
            )

    config = ConfigDict(frozen=True, extra="forbid")
    fields: dict[str, Any] = own
    return create_model(method.__name__, __config__=config, __doc__=method.__doc__, **fields)


def synthesizer(name: str, *, version: int = 1) -> Callable[[type[M]], type[M]]:
    """Names a method, for errors and its trajectories. Raise `version` where the class does
    otherwise than before: its stage is then done anew. It registers nothing: a flow names the class
    as `package.module:Class`, or by an entry point of the group `synth.synthesizers`.
    """

    def named(method: type[M]) -> type[M]:
        method.method, method.version = name, version
        return method

    return named


def method_report(
    unit: str,
    attempted: int,
    verified: int,
    rejected: Mapping[str, int],
    **more: Any,
) -> Mapping[str, Any]:
    """The report of kind `method`: attempts, verified ones, reasons of the rest; `also` holds lines
    for people, further keys are for programs.
    """

    return {
        "kind": "method",
        "unit": unit,
        "attempted": attempted,
        "verified": verified,
        "rejected": {reason: count for reason, count in rejected.items() if count},
        "also": [],
        **more,
    }
