"""A task played turn by turn by whoever trains: the world of the rollouts, its own check, and the
outcome that the ledger would hold.
"""

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec

from synth.boundary import FaultError, guard_async, imported
from synth.exporters.kinds.sft_rows import joined_answers
from synth.rollout.answers import checked, stepped
from synth.rollout.given import Given
from synth.rollout.limits import Limits, reached
from synth.rollout.open_lines import said_by_somebody
from synth.rollout.record import recorded_turn
from synth.schemas import (
    Act,
    AgentTurn,
    CheckResult,
    ConfigError,
    Env,
    Fault,
    Message,
    Observation,
    OpenEnv,
    Opening,
    Outcome,
    Response,
    Source,
    Task,
    Termination,
    ToolCall,
    Turn,
    greeting_turn,
    observation_message,
    settle,
)

SAFE = "synth.flows.environments:open_env"
"""Environments that need no start, and those that the user's own environments.yaml binds."""


def opener(worlds: str) -> OpenEnv:
    """`package.module:attribute` of an opener, or a YAML file of the user's own with an `env`
    block. Raises `ConfigError`.
    """
    if worlds.endswith((".yaml", ".yml")):
        return cast(OpenEnv, imported("worlds", "synth.flows.environments:bound_envs")(worlds))

    found = imported("worlds", worlds)

    if not callable(found):
        raise ConfigError(
            f"worlds: {worlds} is a {type(found).__name__}, not a function of an environment's "
            "name and settings"
        )

    return cast(OpenEnv, found)


T = TypeVar("T")

OVER = "The episode is over: nothing more is carried out."
UNDEFINED = "the world's check could not tell whether the task was solved: there is no reward"


def task_of(row: Mapping[str, Any]) -> Task:
    """The task of a row of an `rl` export (`task`, or verl's `reward_model.ground_truth`). Raises
    `ConfigError`.
    """
    text = row.get("task") or (row.get("reward_model") or {}).get("ground_truth")

    if not isinstance(text, str):
        raise ConfigError(
            "the row has no text `task`; it is no row of `synth export RUN --kind rl`"
        )

    try:
        return msgspec.json.decode(text, type=Task)
    except msgspec.DecodeError as error:
        raise ConfigError(
            f"the row's `task` is no task: {error}; export it again with this version"
        ) from error


def answers(response: Response) -> list[Message]:
    """What is said to a turn, words of users in the answers of tools."""
    return joined_answers([observation_message(one) for one in response.observations])


class RlEpisode:
    """One episode at a time. A fault of the world ends it as `invalid`, and is raised: a fault is
    never a reward.
    """

    def __init__(self, open_env: OpenEnv, limits: Limits | None = None) -> None:
        self.task: Task | None = None
        self.turns: list[Turn] = []
        self._open, self._limits = open_env, limits or Limits()
        self._env: Env | None = None
        self._given: Given | None = None
        self._ended: Termination | None = None
        self._fault: FaultError | None = None

    async def reset(self, task: Task) -> Opening:
        """A fresh world for the task. Raises `FaultError` where it breaks, `ConfigError` where it
        cannot be opened.
        """
        await self.close()
        self.task, self.turns, self._ended, self._fault = task, [], None, None
        given = self._given = Given(task)
        env = self._env = await self._crossed("opening the world", lambda: self._opened(task))
        opening = await self._crossed("reset", lambda: given.opened(env))
        self._heard(opening.observations)
        greeted = greeting_turn(opening)
        self.turns += [] if greeted is None else [greeted]

        return opening

    async def step(self, turn: AgentTurn) -> Response:
        """The world's answer. After the end, and after a limit, every turn is answered by an error
        and changes nothing.
        """
        env = self._world()

        if self._ended is not None:
            over = tuple(
                Observation(OVER, Source.TOOL, call.call_id, call.name, error=True)
                for call in turn.tool_calls
            )

            return Response(over or (Observation(OVER, Source.ENVIRONMENT, error=True),), done=True)

        index = len(self.turns)
        response = await self._crossed(
            f"step {index}", lambda: stepped(env.step(turn), index, turn.tool_calls)
        )
        self._heard(response.observations)
        self.turns.append(recorded_turn(index, Act(turn=turn), response))

        if response.done:
            self._ended = Termination.DONE
        elif not response.observations and not turn.tool_calls:
            self._ended = Termination.AGENT_STOP
        else:
            self._ended = reached(self._limits, self.turns, completion_tokens=0, waited_s=0)

        return response

    async def call(self, name: str, arguments: str) -> tuple[str, bool]:
        """A turn of one call: what the tool answers, with what the user says to it behind (as
        `join_answers` writes rows of SFT), and whether it is an error.
        """
        call = ToolCall.received(f"call_{len(self.turns)}", name, arguments)
        response = await self.step(AgentTurn(tool_calls=(call,)))
        said = "\n\n".join(message["content"] for message in answers(response))
        return said, bool(response.observations) and response.observations[0].error

    @property
    def done(self) -> bool:
        """Whether the world has ended the episode, the agent has stopped, or a limit is reached."""
        return self._ended is not None

    async def outcome(self) -> Outcome:
        """What the episode is worth if it ends here; the table of `synth.schemas.outcome`. Raises
        `FaultError` where the world broke.
        """
        env = self._world()
        result = await self._crossed("check", lambda: self._checked(env))
        return settle(self._ended or Termination.AGENT_STOP, result.passed, None)

    async def reward(self) -> float | None:
        """1 for a success, else 0: what was cut off by a limit was not solved, whatever the check
        says. None where the check could not tell: neither number would be true.
        """
        outcome = await self.outcome()
        return None if outcome is Outcome.UNKNOWN else float(outcome is Outcome.SUCCESS)

    async def close(self) -> None:
        """Closes the world; a fault of closing harms nobody any more."""
        env, self._env = self._env, None

        if env is not None:
            with contextlib.suppress(FaultError):
                await guard_async(
                    Fault.ENVIRONMENT, "close", env.close, self._limits.step_timeout_s
                )

    def _heard(self, lines: Sequence[Observation]) -> None:
        """Raises `FaultError` for what the world leaves to a model: nobody plays one here."""
        try:
            said_by_somebody(lines)
        except FaultError as error:
            self._fault = error
            raise

    async def _checked(self, env: Env) -> CheckResult:
        result = await checked(env)
        if self._given is not None:
            self._given.unchanged()
        return result

    async def _opened(self, task: Task) -> Env:
        return self._open(task.env, task.env_config)

    def _world(self) -> Env:
        if self._fault is not None:
            raise self._fault
        if self._env is None:
            raise ConfigError(
                "the episode has not begun: call reset with a row of an rl export first"
            )

        return self._env

    async def _crossed(self, what: str, call: Callable[[], Awaitable[T]]) -> T:
        try:
            return await guard_async(Fault.ENVIRONMENT, what, call, self._limits.step_timeout_s)
        except FaultError as error:
            self._fault = error
            raise
