"""A world that leaves it to a model what its user says, and the logs of another harness in it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict

from synth.envs.echo_check import judged
from synth.envs.world import EnvEntry
from synth.schemas.check import Check, CheckResult, RowPredicate
from synth.schemas.environment import AgentTurn, EnvSpec, Opening, Response
from synth.schemas.model import Completion, Message
from synth.schemas.policy import OPEN_LINE
from synth.schemas.task import Task
from synth.schemas.trajectory import Deviation, Observation, Source, Trajectory, Turn, Wording

NAME = "tests.synth.rollout.free_talk:WORLD"
GREETING, BYE = "Hello?", "BYE"
SPEC = EnvSpec(
    name=NAME,
    version="1",
    licence="Apache-2.0",
    capabilities=frozenset({"tasks", "facts"}),
    facts={"tray/now/*": "required"},
)
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "serve",
        "description": "Serve a drink.",
        "parameters": {"type": "object", "properties": {"drink": {"type": "string"}}},
    },
}


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Bar:
    """What was served last is on the tray."""

    spec = SPEC

    async def reset(self, task: Task | None) -> Opening:
        self.task, self.drink = task, ""
        said = (Observation(OPEN_LINE, Source.USER),)
        return Opening("You keep a bar.", (TOOL,), said, "", GREETING)

    async def step(self, turn: AgentTurn) -> Response:
        seen = []
        for call in turn.tool_calls:
            self.drink = str(call.parsed().get("drink"))
            seen.append(Observation(f"served {self.drink}", call_id=call.call_id, name="serve"))
        return Response(tuple(seen or [Observation(OPEN_LINE, Source.USER)]), self.drink)

    async def facts(self) -> Mapping[str, Any]:
        return {"tray/now/drink": self.drink}

    async def check(self) -> CheckResult:
        check = self.task.check if self.task is not None else None
        return judged(check, {"tray/now/drink": ""}, await self.facts(), SPEC.version)

    async def close(self) -> None: ...


class Guest:
    """Says what the model says, until that is `BYE`."""

    version = "1"

    def prompt(self, task: Task, turns: Sequence[Turn], line: str) -> Sequence[Message] | None:
        told = [turn.content for turn in turns if turn.content]
        return [{"role": "user", "content": json.dumps([task.goal, *told])}]

    def deviations(self, line: str, reply: Completion) -> Sequence[Deviation]:
        return () if reply.content else (Deviation("silent"),)

    def ends(self, words: str) -> bool:
        return words.endswith(BYE)


def task(drink: str = "tea") -> Task:
    wanted = Check(required=(RowPredicate("tray", {"id": "now", "drink": drink}),))
    return Task.identified(env=NAME, goal=f"You want {drink}.", check=wanted)


async def relive(logged: Task, trial: Trajectory) -> tuple[Task, Trajectory] | str:
    """A log holds the goal, the calls and what the guest said."""
    made, bar = task(logged.goal), Bar()
    opening = await bar.reset(made)
    first, *rest = trial.turns
    turns = [replace(first, observations=tuple(map(_worded, first.observations)))]
    for turn in rest:
        now = await bar.step(AgentTurn(turn.content, turn.tool_calls))
        if [one.content for one in turn.observations] != [
            said.content if one.source is Source.USER else one.content
            for one, said in zip(now.observations, turn.observations, strict=True)
        ]:
            return "other_answer"
        seen = [
            _worded(said) if one.source is Source.USER else one
            for one, said in zip(now.observations, turn.observations, strict=True)
        ]
        turns.append(replace(turn, observations=tuple(seen), state_key=now.state_key))
    again = {
        "trajectory_id": f"again {trial.trajectory_id}",
        "slot_id": f"again {trial.slot_id}",
        "task_id": made.task_id,
        "env": NAME,
        "system_prompt": opening.system_prompt,
        "tools": opening.tools,
        "opening": (),
        "opening_state_key": opening.state_key,
        "turns": tuple(turns),
        "check_result": await bar.check(),
    }
    return made, replace(trial, **again)


def _worded(said: Observation) -> Observation:
    return replace(said, wording=Wording(OPEN_LINE, "theirs"))


WORLD = EnvEntry(
    SPEC,
    lambda config: Bar(),
    lambda config, seed, count: [task() for _ in range(min(count, 1))],
    Settings,
    user=Guest(),
    relive=relive,
)
