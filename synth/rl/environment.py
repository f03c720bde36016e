"""The episode as a plain object for trainers that call from synchronous code: reset with a row,
tools by name, a reward.
"""

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec

from synth.exporters.unroll import joined_answers
from synth.rl.episode import Episode, task_of
from synth.rollout.limits import Limits
from synth.schemas.environment import AgentTurn, OpenEnv, Response
from synth.schemas.messages import observation_message, view_messages
from synth.schemas.model import Message
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall, ToolSchema

T = TypeVar("T")


class RlEnvironment:
    """Wraps `Episode`; all environments of a process share one event loop in a daemon thread, so
    that notebooks can use it too.
    """

    def __init__(self, open_env: OpenEnv, limits: Limits | None = None) -> None:
        self._episode = Episode(open_env, limits)
        self.tools: tuple[ToolSchema, ...] = ()

    def reset(self, row: Mapping[str, Any] | Task) -> list[Message]:
        """Begins the row's task: the messages that an agent is shown first; `tools` are what it may
        call.
        """
        opening = _waited(self._episode.reset(row if isinstance(row, Task) else task_of(row)))
        self.tools = opening.tools
        return view_messages(opening, ())

    def step(self, turn: AgentTurn) -> Response:
        """The world's answer to a whole turn: text, one call, or several at once."""
        return _waited(self._episode.step(turn))

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> str:
        """A turn of one call: what the tool answers, with what the user says to it behind (as
        `join_answers` writes rows of SFT).
        """
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
        call = ToolCall.received(f"call_{len(self._episode.turns)}", name, text)
        response = self.step(AgentTurn(tool_calls=(call,)))
        messages = joined_answers(
            [observation_message(observation) for observation in response.observations]
        )
        return "\n\n".join(message["content"] for message in messages)

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self._episode.done

    def outcome(self) -> Outcome:
        """What the episode is worth if it ends here."""
        return _waited(self._episode.outcome())

    def reward(self) -> float:
        """1.0 for a success, else 0.0. Raises `synth.boundary.FaultError` where the world broke:
        there is no reward then.
        """
        return _waited(self._episode.reward())

    def close(self) -> None:
        """Closes the world."""
        _waited(self._episode.close())


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="rl worlds").start()
    return loop


def _waited(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()
