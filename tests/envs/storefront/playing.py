"""Playing episodes in tests: expert episodes, scripted turns, and transcripts turned into
trajectories.
"""

from collections.abc import Sequence
from typing import Any

from synth.envs.storefront import WORLD
from synth.envs.storefront.env import StorefrontEnv
from synth.envs.storefront.self_play import at_once
from synth.schemas.canonical import canonical_json
from synth.schemas.check import CheckResult
from synth.schemas.environment import AgentTurn, Opening, Response
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall, Trajectory, Turn

MOST_TURNS = 120


def opened() -> StorefrontEnv:
    """A fresh storefront with its own type."""
    env = WORLD.open({"transient_rate": 0})
    assert isinstance(env, StorefrontEnv)
    return env


def call(name: str, /, **arguments: Any) -> AgentTurn:
    """A turn of one call."""
    return AgentTurn(tool_calls=(ToolCall.received("c", name, canonical_json(arguments).decode()),))


class Episode:
    """One played episode: opening, turns, responses and verdict."""

    def __init__(self, task: Task, env: StorefrontEnv, opening: Opening) -> None:
        self.task = task
        self.env = env
        self.opening = opening
        self.turns: list[AgentTurn] = []
        self.responses: list[Response] = []

    async def act(self, turn: AgentTurn) -> Response:
        """Steps, and keeps both sides."""
        response = await self.env.step(turn)
        self.turns.append(turn)
        self.responses.append(response)
        return response

    def trajectory(self, result: CheckResult | None) -> Trajectory:
        """The episode as it would be stored."""
        turns = tuple(
            Turn(at, turn.content, turn.tool_calls, response.observations)
            for at, (turn, response) in enumerate(zip(self.turns, self.responses, strict=True))
        )
        passed = result is not None and result.passed
        return Trajectory(
            trajectory_id="t",
            slot_id="s",
            attempt=0,
            task_id=self.task.task_id,
            env="storefront",
            trial=0,
            synthesizer="rollout",
            policy="test",
            outcome=Outcome.SUCCESS if passed else Outcome.FAILURE,
            termination=Termination.DONE,
            opening=self.opening.observations,
            turns=turns,
            check_result=result,
        )


async def started(task: Task) -> Episode:
    """An episode before its first turn."""
    env = opened()
    return Episode(task, env, await env.reset(task))


async def expert_episode(task: Task, profile: str | None = None, seed: int = 0) -> Episode:
    """An episode that the expert plays to its end."""
    episode = await started(task)
    for _ in range(MOST_TURNS):
        if (await episode.act(await episode.env.expert(profile, seed))).done:
            return episode
    raise AssertionError(f"no end after {MOST_TURNS} turns: {task.goal}")


def passes(task: Task, profile: str | None = None, seed: int = 0) -> bool:
    """Whether the expert of this profile solves the task."""

    async def play() -> bool:
        return (await (await expert_episode(task, profile, seed)).env.check()).passed

    return at_once(play())


def contents(responses: Sequence[Response]) -> list[str]:
    """All observation texts, in order."""
    return [observation.content for response in responses for observation in response.observations]
