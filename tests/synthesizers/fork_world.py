"""A fork in the road, then a throw of dice: how often each way leads to success is a setting, and
how it fails is one too.

A task is solved by `take` of a way and then `throw` of a number below what the way asks for.
`Roller` throws 0 to 99, each as likely, so
the chance of a way is its setting in percent. `dice.opened` counts worlds, `dice.thrown` what was
thrown; the run dies as the world number
`dice.dies_at` is opened.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict

from synth.envs.world import EnvEntry
from synth.policies.chance import turn_draws
from synth.schemas.check import Check, CheckResult, Facts, RowPredicate
from synth.schemas.environment import AgentTurn, EnvSpec, Opening, Response
from synth.schemas.errors import SynthError
from synth.schemas.policy import Act, Episode, Policy, PolicySpec, View
from synth.schemas.task import Task
from synth.schemas.trajectory import Authorship, Observation, Source, ToolCall, ToolSchema

NAME = "tests.synthesizers.fork_world:WORLD"
POLICY = "tests.synthesizers.fork_world:roller"
SPEC = EnvSpec(
    name=NAME,
    version="1",
    licence="Apache-2.0",
    capabilities=frozenset({"expert", "facts", "tasks"}),
    facts={"road/*/won": "required"},
)
TOOLS: tuple[ToolSchema, ...] = tuple(
    {
        "type": "function",
        "function": {
            "name": name,
            "description": name,
            "parameters": {"type": "object", "properties": {}},
        },
    }
    for name in ("take", "throw")
)


class ForkConfig(BaseModel):
    """Chances of the ways in percent; throws from `breaks_from` on break the world; one that
    `drifts` greets differently each time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    left: int = 10
    right: int = 90
    breaks_from: int = 100
    drifts: bool = False


class Dice:
    """What was done in all worlds."""

    def __init__(self) -> None:
        self.opened = 0
        self.thrown: list[int] = []
        self.dies_at: int | None = None


dice = Dice()


class Fork:
    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = ForkConfig.model_validate(dict(config))
        self._way = ""
        self._won = False
        dice.opened += 1
        if dice.opened == dice.dies_at:
            raise SynthError("the disk is full")

    @property
    def spec(self) -> EnvSpec:
        return SPEC

    async def reset(self, task: Task | None) -> Opening:
        seen = f"{task.goal if task else ''} {dice.opened if self._config.drifts else ''}"
        return Opening("Take a way, then throw.", TOOLS, (Observation(seen, Source.USER),), "start")

    async def step(self, turn: AgentTurn) -> Response:
        (call,) = turn.tool_calls
        if call.name == "throw":
            number = call.parsed()["number"]
            dice.thrown.append(number)
            if number >= self._config.breaks_from:
                raise RuntimeError("planned: the dice are lost")
            self._won = bool(self._way) and number < getattr(self._config, self._way)
        elif call.name == "take":
            self._way = call.parsed()["way"]
        said = Observation("ok", call_id=call.call_id, name=call.name)
        return Response((said,), f"{self._way} {self._won}", done=call.name == "throw")

    async def check(self) -> CheckResult:
        return CheckResult(self._won, facts={"road/0/won": self._won}, version="1")

    async def facts(self) -> Facts:
        return {"road/0/won": self._won}

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        return throw(0) if self._way else take("right")

    async def close(self) -> None:
        return None


def take(way: str) -> AgentTurn:
    return _called("take", {"way": way})


def throw(number: int) -> AgentTurn:
    return _called("throw", {"number": number})


def _called(name: str, arguments: Any) -> AgentTurn:
    return AgentTurn(
        tool_calls=(ToolCall.received("c", name, msgspec.json.encode(arguments).decode()),)
    )


class _Roller:
    def __init__(self, episode: Episode, way: str) -> None:
        self._episode = episode
        self._way = way

    async def act(self, view: View) -> Act:
        if not view.turns:
            return Act(turn=take(self._way))
        return Act(turn=throw(turn_draws(self._episode, view).randrange(100)))


def roller(
    settings: Mapping[str, Any], *, model_name: str | None, sampling: Mapping[str, Any]
) -> PolicySpec:
    """Takes the way `way`, then throws 0 to 99, each as likely."""
    way = str(settings.get("way", "left"))

    def open_policy(episode: Episode) -> Policy:
        return _Roller(episode, way)

    return PolicySpec(
        name="roller",
        authorship=Authorship.SCRIPTED,
        identity={"policy": "roller", "way": way},
        open=open_policy,
    )


def make_tasks(config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    check = Check(required=(RowPredicate("road", {"id": "0", "won": True}),))
    return [
        Task.identified(
            env=NAME,
            env_config=dict(config),
            goal=f"Reach {seed} {number}.",
            seed=number,
            check=check,
        )
        for number in range(count)
    ]


WORLD = EnvEntry(SPEC, Fork, make_tasks, ForkConfig)


def _alone(config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    return [
        msgspec.structs.replace(task, env=f"{NAME.partition(':')[0]}:WITHOUT_EXPERT")
        for task in make_tasks(config, seed, count)
    ]


WITHOUT_EXPERT = EnvEntry(
    msgspec.structs.replace(SPEC, capabilities=frozenset({"facts", "tasks"})),
    Fork,
    _alone,
    ForkConfig,
)
