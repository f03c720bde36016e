"""A method of collection: a class whose annotated fields are the settings that a flow may give."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, dataclass_transform, get_origin, get_type_hints

import msgspec
from pydantic import BaseModel, ConfigDict, Field, create_model

from synth.engine.context import Role, Run, Synthesizer
from synth.engine.study.bench import Bench
from synth.engine.study.player import Player, agent_in, places_for, trial_limits
from synth.ledger.conclude import finalize_labels
from synth.ledger.ledger import Score, StageRef
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.stage import Plan, Shard, Stage

SCHEDULING = {"shard", "live", "limits"}
"""Settings that determine no row; the limits that hold are part of the key by themselves."""
SHARD = 20
"""Units that are committed together, where a method has no setting `shard`."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Where a method stands: its stage's name in a flow, the flow's roles, and its environment's
    `synth.envs.world.EnvEntry`, None where it asked for none.
    """

    name: str
    flow: Flow
    roles: Mapping[str, Role]
    world: Any = None


@dataclass_transform(kw_only_default=True, field_specifiers=(Field,))
class Method:
    """A stage of a flow by what is its own; the rest is the same for all and done here.

    Written: `left` (items that are not done, which are cut into shards), `play` (what is done with
    those of one shard; what comes of it goes to the bench), `report`. Where it has a setting `role`,
    that is who plays: the role must be in the flow, `player` plays it under the setting `limits`, or
    those of the flow's rollout, and it is part of the stage's key. Also: `bind` refuses what a flow
    lacks, `identity` adds to the key, `finalize` concludes labels once all is played.
    """

    method: ClassVar[str] = ""
    unit: ClassVar[str] = "units"
    needs_world: ClassVar[bool] = False
    config: ClassVar[type[BaseModel]]
    player: Player
    bound: Bound

    def __init_subclass__(cls) -> None:
        cls.config = settings_of(cls)

    def __init__(self, **settings: Any) -> None:
        self.settings = self.config(**settings)
        self.__dict__.update(self.settings)

    def bind(self) -> None:
        """Takes from `bound` what the method needs. Raises `ConfigError` for what is not there."""

    def agents(self) -> Sequence[str]:
        """The roles that act in the environment, the one that plays first."""
        return (self.role,) if hasattr(self, "role") else ()

    def cast(self) -> Player | None:
        """Who plays. Raises `ConfigError` for a role that cannot."""
        found = [(name, agent_in(self.method, name, self.bound.roles)) for name in self.agents()]
        return self.playing(*found[0]) if found else None

    def playing(self, name: str | None, role: Role) -> Player:
        """A role as this stage plays it."""
        flow = self.bound.flow
        limits = getattr(self, "limits", None) or trial_limits(flow, str(name))
        places = places_for(getattr(self, "live", None), role)
        return Player(name, role, limits, places, flow.seed, self.method)

    def identity(self) -> Mapping[str, Any]:
        """What determines the rows beside the settings and who plays."""
        return {}

    def key_settings(self) -> Mapping[str, Any]:
        """All that determines the rows; how they are cut into shards does not."""
        given = self.settings.model_dump(mode="json", exclude=SCHEDULING, by_alias=True)
        player: Player | None = getattr(self, "player", None)
        return {**given, **({} if player is None else player.identity()), **self.identity()}

    def inputs(self, run: Run) -> str:
        """A digest of what the method works on."""
        return ""

    def left(self, run: Run, stage_key: str) -> Sequence[Any]:
        """What is to be done, or was when the shards were cut."""
        raise NotImplementedError

    def key_of(self, item: Any) -> Any:
        """What names an item in the name of its shard."""
        return item

    def planned(self, run: Run, stage_key: str) -> Plan:
        """Shards of what is left, without those that are committed whole."""
        items, size = self.left(run, stage_key), getattr(self, "shard", SHARD)
        cut = [items[at : at + size] for at in range(0, len(items), size)]
        shards = [Shard(content_hash([self.key_of(one) for one in part]), part) for part in cut]
        shards = [one for one in shards if (stage_key, one.name) not in run.ledger.state.named]
        units = sum(len(shard.items) for shard in shards) * self.units_of_an_item()
        return Plan(shards, self.adopted(run, stage_key), units, self.unit)

    def units_of_an_item(self) -> int:
        """How many units an item stands for in the progress, at most."""
        return 1

    def adopted(self, run: Run, stage_key: str) -> tuple[str, ...]:
        """Trajectories that other settings of the stage had made for the same slots."""
        return ()

    async def play(self, bench: Bench, items: Sequence[Any]) -> None:
        """Does one shard."""
        raise NotImplementedError

    def finalize(self, run: Run, stage_key: str) -> Sequence[Score]:
        """Rows that depend on the work of the whole stage, those of former runs anew."""
        return ()

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """For the funnel and the report page: see `method_report`."""
        raise NotImplementedError


M = TypeVar("M", bound=Method)


def settings_of(method: type[Method]) -> type[BaseModel]:
    """The settings model of a method: its annotated fields, without those of this module."""
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


@dataclass(frozen=True, slots=True)
class MethodStage:
    """A method as the runner sees it."""

    name: str
    method: Method

    @property
    def settings(self) -> Mapping[str, Any]:
        """What determines the rows."""
        return self.method.key_settings()

    def inputs(self, run: Run) -> str:
        """What the rows are made of."""
        return self.method.inputs(run)

    def plan(self, run: Run, stage_key: str) -> Plan:
        """What is not done."""
        return self.method.planned(run, stage_key)

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Plays a shard and commits what came of it; what a rerun may tell more of is left to
        it.
        """
        if (stage_key, shard.name) in run.ledger.refresh().named:
            return
        bench = Bench(run, shard.name, stage_key, getattr(self.method, "player", None))
        await self.method.play(bench, shard.items)
        bench.commit(StageRef(self.name, stage_key))
        line, adopted = run.ledger.state.stages[self.name], self.method.adopted(run, stage_key)
        if adopted != line.adopted:
            run.ledger.begin_stage(msgspec.structs.replace(line, adopted=adopted))

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Concludes the labels first: what they are worth depends on the control of the whole
        stage. None are made by a run that a ceiling stopped, but for those that a former run has
        concluded.
        """
        if run.stopped is None or run.ledger.state.concluded(stage_key) is not None:
            ref, scores = StageRef(self.name, stage_key), self.method.finalize(run, stage_key)
            finalize_labels(run.ledger, ref, scores=scores)
        return self.method.report(run, stage_key)


def method_report(
    unit: str, attempted: int, verified: int, rejected: Mapping[str, int], **more: Any
) -> Mapping[str, Any]:
    """The report of kind `method`: attempts, what held, why the rest did not; `also` are lines for
    people, further keys are for programs.
    """
    counted = {reason: count for reason, count in rejected.items() if count}
    report = {"unit": unit, "attempted": attempted, "verified": verified, "rejected": counted}
    return {"kind": "method", **report, "also": [], **more}


def synthesizer(name: str) -> Callable[[type[M]], type[M]]:
    """Names a method, as errors and its trajectories do. It registers nothing: a flow names the
    class as `package.module:Class`, or by an entry point of the group `synth.synthesizers`.
    """

    def named(method: type[M]) -> type[M]:
        method.method = name
        return method

    return named


def as_synthesizer(found: Any) -> Any:
    """A method class as the part that flows bind; anything else as it is."""
    if not (isinstance(found, type) and issubclass(found, Method)):
        return found

    def bind(
        name: str, settings: BaseModel, flow: Flow, roles: Mapping[str, Role], world: Any = None
    ) -> Stage[Run]:
        method = found(**dict(settings))
        if found.needs_world and flow.env is None:
            raise ConfigError(
                f"{found.method} needs a world: add `env: {{name: ..., tasks: ...}}` to the flow"
            )
        method.bound = Bound(name, flow, roles, world)
        player = method.cast()
        if player is not None:
            method.player = player
        method.bind()
        return MethodStage(name, method)

    return Synthesizer(found.config, bind, of_world=found.needs_world)
