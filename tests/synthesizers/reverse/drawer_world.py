"""Drawers with numbers in them, which can be read and told, opened and locked: a world with
questions, and the same without any rules.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict

from synth.envs.echo_check import state_verdicts
from synth.envs.world import EnvEntry, Questions
from synth.schemas.canonical import canonical_json, content_hash
from synth.schemas.check import CheckResult, Facts, Scalar, SubVerdict, Tell
from synth.schemas.environment import AgentTurn, EnvSpec, Opening, Response
from synth.schemas.reverse import Draft, NoGoal, Window
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, ToolCall

WORLDS = "tests.synthesizers.reverse.drawer_world"
DRAWERS = tuple(f"D-{number}" for number in range(1, 9))
_NAMED = {"type": "object", "properties": {"drawer": {"type": "string"}}, "required": ["drawer"]}
_NONE: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS = tuple(
    {
        "type": "function",
        "function": {
            "name": name,
            "description": name,
            "parameters": _NONE if name == "finish" else _NAMED,
        },
    }
    for name in ("read", "open", "lock", "finish")
)
SPEC = EnvSpec(
    name="drawers",
    version="1",
    licence="Apache-2.0",
    capabilities=frozenset({"affordances", "facts", "expert"}),
    facts={"drawers/*/*": "required"},
)


class DrawerConfig(BaseModel):
    """`span`: how many numbers there are. `tells`: goals hold the answer. `blind`: the check does
    not ask whether it was read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: int = 0
    span: int = 1000
    tells: bool = False
    blind: bool = False


def numbers(start: int, span: int) -> dict[str, int]:
    draw = Random(f"drawers {start}")
    return {drawer: 1000 + draw.randrange(span) for drawer in DRAWERS}


def call(name: str, **arguments: str) -> AgentTurn:
    return AgentTurn(tool_calls=(ToolCall("call", name, canonical_json(arguments).decode()),))


class Drawers:
    spec = SPEC

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = DrawerConfig.model_validate(dict(config))

    async def reset(self, task: Task | None) -> Opening:
        self._config = DrawerConfig.model_validate(dict(task.env_config)) if task else self._config
        self._task, self._over, self._numbers = (
            task,
            False,
            numbers(self._config.start, self._config.span),
        )
        self._facts: dict[str, Scalar] = {
            f"drawers/{drawer}/{column}": False
            for drawer in DRAWERS
            for column in ("open", "locked")
        }
        self._start, self._read, self._told = dict(self._facts), set[str](), set[tuple[str, int]]()
        goal = task.goal if task else "Look around."
        return Opening(
            "Drawers.", TOOLS, (Observation(goal, Source.USER),), content_hash(self._facts)
        )

    async def step(self, turn: AgentTurn) -> Response:
        for drawer, number in re.findall(r"Drawer (D-\d) holds (\d+)", turn.content or ""):
            if drawer in self._read or self._config.blind:
                self._told.add((drawer, int(number)))
        seen = tuple(self._answer(one) for one in turn.tool_calls) or (
            Observation("Aha.", Source.USER),
        )
        return Response(seen, content_hash(self._facts), done=self._over)

    def _answer(self, made: ToolCall) -> Observation:
        drawer = str((made.parsed() if made.parse_error is None else {}).get("drawer"))
        self._over = self._over or made.name == "finish"
        if made.name == "finish":
            return Observation("Bye.", Source.TOOL, made.call_id, made.name)
        if drawer not in DRAWERS or made.name not in ("read", "open", "lock"):
            return Observation("That cannot be done.", Source.TOOL, made.call_id, made.name, True)
        if made.name == "read":
            self._read.add(drawer)
            return Observation(
                f"{drawer} holds {self._numbers[drawer]}", Source.TOOL, made.call_id, made.name
            )
        self._facts[f"drawers/{drawer}/{'open' if made.name == 'open' else 'locked'}"] = True
        return Observation("Done.", Source.TOOL, made.call_id, made.name)

    async def check(self) -> CheckResult:
        if self._task is None or self._task.check is None:
            return CheckResult(False)
        told = {(fact.about, fact.value) for fact in self._task.check.told}
        said = told <= self._told and len(self._told) <= len(told)
        parts = (
            *state_verdicts(self._task.check, self._start, self._facts),
            SubVerdict("told", said),
        )
        return CheckResult(all(part.passed for part in parts), parts)

    async def close(self) -> None:
        """Holds nothing."""

    async def facts(self) -> Facts:
        return dict(self._facts)

    async def affordances(self) -> Sequence[AgentTurn]:
        return (
            ()
            if self._over
            else [
                call(name, drawer=drawer) for name in ("read", "open", "lock") for drawer in DRAWERS
            ]
        )

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        goal = self._task.goal if self._task else ""
        asked = re.findall(r"What is in (D-\d)\?", goal)
        left = [call("read", drawer=drawer) for drawer in asked if drawer not in self._read]
        for name, drawer in re.findall(r"\b(Open|Lock) (D-\d)\.", goal):
            column = "open" if name == "Open" else "locked"
            if not self._facts.get(f"drawers/{drawer}/{column}", True):
                left.append(call(name.lower(), drawer=drawer))
        left += [
            AgentTurn(f"Drawer {drawer} holds {self._numbers[drawer]}.")
            for drawer in asked
            if drawer not in {told for told, _ in self._told}
        ]
        return left[0] if left else call("finish")


def write_goal(window: Window) -> Draft | NoGoal:
    """A sentence per operation; a question per look-up."""
    config = DrawerConfig.model_validate(dict(window.env_config))
    inside, said, told = numbers(config.start, config.span), [], []
    for operation in window.operations:
        (made,) = operation.turn.tool_calls
        drawer = str(made.parsed()["drawer"])
        if operation.shown is None:
            said.append(f"{made.name.title()} {drawer}.")
            continue
        told.append(Tell("number", inside[drawer], drawer))
        said.append(f"What is in {drawer}?" + f" I think {inside[drawer]}." * config.tells)
    answer = " ".join(f"Drawer {fact.about} holds {fact.value}." for fact in told)
    tools = sorted(operation.turn.tool_calls[0].name for operation in window.operations)
    return Draft(
        " ".join(said), tuple(said), " + ".join(tools), told=tuple(told), answer=AgentTurn(answer)
    )


def elsewhere(task: Task, seed: int) -> Sequence[Tell]:
    inside = numbers(10**6 + seed, DrawerConfig.model_validate(dict(task.env_config)).span)
    told = task.check.told if task.check is not None else ()
    return [msgspec.structs.replace(fact, value=inside[fact.about]) for fact in told]


def exploring(settings: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    return {**settings, "start": seed}


def make_tasks(config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    return ()


WORLD = EnvEntry(
    SPEC,
    Drawers,
    make_tasks,
    DrawerConfig,
    write_goal=write_goal,
    exploring=exploring,
    questions=Questions(frozenset({"read"}), elsewhere),
)
NOWHERE_ELSE = replace(WORLD, questions=Questions(frozenset({"read"}), lambda task, seed: None))
BARE = EnvEntry(
    msgspec.structs.replace(SPEC, capabilities=frozenset({"affordances", "facts"})),
    Drawers,
    make_tasks,
    DrawerConfig,
)
"""Nothing but facts and affordances: no expert, no tasks, no rules for goals."""
