"""An environment by the kit that uses each of its parts, and how the tests play it."""

import asyncio
from enum import Enum
from typing import Any, Literal, Optional

from synth.envs.tool_env import Call, Require, Task, ToolEnv, ToolError, tool, world_of
from synth.schemas.environment import AgentTurn, Env, Response
from synth.schemas.trajectory import Observation, ToolCall

COLOURS: dict[str, list[int]] = {"red": [], "blue": []}


class Colour(Enum):
    GREEN = "green"
    GREY = "grey"


class Shelf(ToolEnv):
    """A shelf of boxes.

    Put things where they belong.
    """

    version, licence = "1", "CC0-1.0"
    size: int = 4

    def start(self, task: Task | None) -> str:
        self.boxes = COLOURS
        self.paint_is, self._rolled = "none", 0
        return task.goal if task else "Look around."

    @tool(read_only=True)
    def look(self) -> dict[str, list[int]]:
        """Look at the boxes."""
        return self.boxes

    @tool
    def put(
        self,
        box: Literal["red", "blue"],
        numbers: list[int],
        note: Optional[str] = None,  # noqa: UP045
    ) -> str:
        """Put numbers into a box."""
        if not numbers:
            raise ToolError("Nothing to put.")
        for number in numbers:
            self.boxes[box].append(number)
            if number == 13:
                raise ToolError(f"13 brings bad luck: {note}")
        return f"{box}: {', '.join(map(str, self.boxes[box]))}"

    @tool
    def paint(
        self, colour: Colour, share: float = 0.5, *, dry: bool = True, coats: Literal[1, 2] = 2
    ) -> str:
        """Paint the shelf."""
        self.paint_is = colour.value
        return f"{colour} {share} {dry} {coats}"

    @tool
    def roll(self) -> int:
        """Roll a die of a thousand sides."""
        self._rolled = self.rng.randint(1, 1000)
        return self._rolled

    @tool(ends=True)
    def leave(self) -> None:
        """Go away."""

    def hear(self, words: str) -> str | None:
        return "I wait." if words == "Wait." else None

    def affordances(self) -> list[Call]:
        return [
            ("put", {"box": box, "numbers": [number]}) for box in self.boxes for number in range(9)
        ]

    def tasks(self, seed: int, count: int) -> list[Task]:
        return [self.task(seed + number) for number in range(count)]

    def task(self, seed: int) -> Task:
        goal, wanted = f"Put {self.size} into the red box.", Require("boxes.red.0", self.size)
        gold = [("look", {}), ("put", {"box": "red", "numbers": [self.size]})]
        return Task.new(self, seed, goal, wanted, free=["paint_is"], gold=gold)


def opened(kind: type[ToolEnv], **settings: Any) -> Env:
    return world_of(kind).open(settings)


def call(name: str, arguments: str = "{}", call_id: str = "1") -> AgentTurn:
    return AgentTurn(tool_calls=(ToolCall.received(call_id, name, arguments),))


async def played(env: Env, *turns: AgentTurn, task: Task | None = None) -> list[Response]:
    await env.reset(task)
    return [await env.step(turn) for turn in turns]


def answers(kind: type[ToolEnv], *turns: AgentTurn) -> list[Observation]:
    responses = asyncio.run(played(opened(kind), *turns))
    return [observation for response in responses for observation in response.observations]


def task_of(kind: type[ToolEnv], seed: int = 3) -> Task:
    return world_of(kind).make_tasks({}, seed, 1)[0]
