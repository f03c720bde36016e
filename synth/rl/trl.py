"""TRL's `environment_factory` (GRPO, RLOO; TRL 1.16): the tools of a world with the schemas that
its agents are shown, and its reward.

TRL takes the methods of an environment's class for tools, in the order of their names, and renders
each as it stands if it is a dictionary. So each tool here is its own schema that can be called.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec

from synth.boundary import FaultError
from synth.rl.episode import RlEpisode, task_of
from synth.rollout.limits import Limits
from synth.schemas import (
    AgentTurn,
    ConfigError,
    Message,
    OpenEnv,
    Outcome,
    Response,
    Task,
    ToolSchema,
    canonical_json,
    view_messages,
)

T = TypeVar("T")


class RlEnvironment:
    """Wraps `RlEpisode`; all environments of a process share one event loop in a daemon thread, so
    that notebooks can use it too.
    """

    def __init__(self, open_env: OpenEnv, limits: Limits | None = None) -> None:
        self._episode = RlEpisode(open_env, limits)
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
        return _waited(self._episode.call(name, text))[0]

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self._episode.done

    def outcome(self) -> Outcome:
        """What the episode is worth if it ends here."""
        return _waited(self._episode.outcome())

    def reward(self) -> float | None:
        """1.0 for a success, else 0.0; None where the world's check could not tell. Raises
        `synth.boundary.FaultError` where the world broke: there is no reward then either.
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


class Tool(dict[str, Any]):
    """A tool's schema; calling it carries the call out."""

    def __init__(
        self, schema: ToolSchema, carry_out: Callable[[str, Mapping[str, Any]], str]
    ) -> None:
        super().__init__(schema)
        self.__name__: str = schema["function"]["name"]
        self._carry_out = carry_out

    def __call__(self, **arguments: Any) -> str:
        return self._carry_out(self.__name__, arguments)


def environment_factories(
    rows: Iterable[Mapping[str, Any]], open_env: OpenEnv, limits: Limits | None = None
) -> dict[str, Callable[[], Any]]:
    """`environment_factory` for rows of an `rl` export (form trl): one factory per world that the
    column `environment` names.

    Raises `ConfigError` where the tasks of a world show different tools, which TRL cannot be told,
    or none (a task never played).
    """
    schemas: dict[str, list[ToolSchema]] = {}

    for row in rows:
        tools, name = [dict(tool) for tool in row["tool_schemas"]], row["environment"]

        if not tools:
            raise ConfigError(
                f"task {row['task_id']} of {name} shows no tools: no trial of it was played; roll "
                "it out, then export again"
            )

        if canonical_json(schemas.setdefault(name, tools)) != canonical_json(tools):
            raise ConfigError(
                f"tasks of {name} show different tools; TRL has one set per environment: train on "
                "one set at a time"
            )

    return {name: _factory(name, tools, open_env, limits) for name, tools in schemas.items()}


def _factory(
    name: str, schemas: list[ToolSchema], open_env: OpenEnv, limits: Limits | None
) -> Callable[[], Any]:
    """TRL finds the names of tools on the class; each instance has the tools themselves."""
    places = {f"tool_{at:04d}": schema for at, schema in enumerate(schemas)}

    class World:
        def __init__(self) -> None:
            self._world = RlEnvironment(open_env, limits)
            for place, schema in places.items():
                setattr(self, place, Tool(schema, self._world.call))

        def reset(self, task: str, **row: Any) -> None:
            """The row's `prompt` is all that the agent is shown first: nothing is added to it."""
            found = task_of({"task": task})
            _refuse_another(name, found, row)

            try:
                self._world.reset(found)
            except FaultError:
                return  # its tools say so, and it has no reward; the other completions go on

            if canonical_json(self._world.tools) != canonical_json(schemas):
                raise ConfigError(
                    f"world {name} shows other tools than the row says: it is another version; "
                    "export the tasks again"
                )

        def get_reward(self) -> float | None:
            """None where the world broke or could not tell: TRL leaves that out of its group."""
            try:
                return self._world.reward()
            except FaultError:
                return None

    for place in places:
        setattr(World, place, _seen)

    World.__name__ = name
    return World


def _refuse_another(name: str, task: Task, row: Mapping[str, Any]) -> None:
    """Raises `ConfigError` where the task is of another environment than its row says."""
    if task.env != name:
        raise ConfigError(
            f"row {str(row.get('task_id'))[:80]!r}: says {name!r}, its task {task.env[:80]!r}; do "
            "not use these rows"
        )


def _seen(self: Any) -> None:
    """Stands where TRL looks for a tool's name."""
