"""A `ToolEnv` as flows and `synth audit` take environments: an entry like those of the registry."""

from collections.abc import (
    Iterator,
    Mapping,
    Sequence,
)
from functools import cache, partial
from inspect import signature
from typing import Any

from synth.boundary import guard
from synth.envs.episode import call_of
from synth.envs.tool_env.kit import ToolEnv, opened
from synth.envs.tool_env.live import LiveToolEnv
from synth.envs.tool_env.signature import ToolError, ToolSignature
from synth.envs.transcript import Transcript, edited
from synth.envs.world import EnvEntry
from synth.schemas import (
    AgentTurn,
    ConfigError,
    EnvSpec,
    Scalar,
    Task,
    ToolSchema,
)

ALWAYS = frozenset({"tasks", "facts", "snapshot", "recheck"})
"""What the kit does for every environment."""

Edit = tuple[str, tuple[AgentTurn, ...]]
"""What was done to a solution, in a word, and its turns."""


@cache
def world_of(kind: type[ToolEnv], name: str | None = None) -> EnvEntry:
    """The entry of an environment under a name, its own where none is given.

    One task is made to see whether tasks carry gold calls: then the environment has an expert.
    Raises `ConfigError` for a class that lacks something.
    """

    name, shown = name or kind.name, kind.__qualname__
    missing = sorted(kind.__abstractmethods__)
    missing += [part for part in ("version", "licence") if not getattr(kind, part)]
    if missing:
        raise ConfigError(f"{shown}: an environment needs {' and '.join(missing)}")
    if not kind.tools:
        raise ConfigError(f"{shown}: an environment needs a method under @tool")

    one = partial(make_tasks, kind, name, {}, 0, 1)
    tasks = guard(f"{shown}: tasks", one)
    with_gold = any(isinstance(task, Task) and task.gold for task in tasks)
    offers = kind.affordances is not ToolEnv.affordances
    own = [part for part, has in (("affordances", offers), ("expert", with_gold)) if has]
    spec = EnvSpec(
        name=name,
        version=kind.version,
        licence=kind.licence,
        capabilities=ALWAYS.union(own),
        blocking=kind.blocking,
        facts={"state/now/*": "required"},
    )

    return EnvEntry(
        spec,
        partial(LiveToolEnv, kind, spec),
        partial(make_tasks, kind, name),
        kind.config,
        mutants=partial(wrong_solutions, kind, spec) if with_gold else None,
    )


def make_tasks(
    kind: type[ToolEnv],
    name: str,
    config: Mapping[str, Any],
    seed: int,
    count: int,
) -> Sequence[Task]:
    """Tasks with these settings.

    Raises `ConfigError` for a gold call that no tool takes and for a `tasks` with other parameters,
    and pydantic's `ValidationError` for settings that the environment does not have.
    """

    env, where = opened(kind, name, config), f"{kind.__qualname__}.tasks"
    env._seed = seed
    try:  # by name: whoever swaps the two would make other tasks each time, and not know why
        signature(env.tasks).bind(seed=seed, count=count)
    except TypeError as error:
        raise ConfigError(f"{where} is called with seed and count: {error}") from None

    made = list(env.tasks(seed=seed, count=count))
    # what is no task at all is for the caller to refuse
    gold = [task.gold or () for task in made if isinstance(task, Task)]
    for call in (call for calls in gold for call in calls):
        if call.name not in kind.tools:
            tools = ", ".join(kind.tools)
            raise ConfigError(f"{where}: a gold call of {call.name!r}; there are {tools}")

        try:
            kind.tools[call.name].parsed(call)
        except ToolError as error:
            said = f"{call.name}({call.arguments})"
            raise ConfigError(f"{where}: the gold call {said}: {error}") from error

    return made


def wrong_solutions(
    kind: type[ToolEnv],
    spec: EnvSpec,
    task: Task,
    transcript: Transcript,
) -> Iterator[Edit]:
    """Edits of a solved episode that end in other facts.

    Those with the same end are solutions of their own, and a check is right to let them pass.
    """

    def ended(actions: Sequence[AgentTurn]) -> dict[str, Scalar]:
        env = LiveToolEnv(kind, spec, task.env_config)
        env.begin(task)
        for action in actions:
            env.take(action)

        return env.now()

    solved = ended(transcript.actions)
    for what, actions in _edits(kind.tools, transcript.actions):
        if ended(actions) != solved:
            yield what, actions


def _edits(tools: Mapping[str, ToolSignature], turns: tuple[AgentTurn, ...]) -> Iterator[Edit]:
    """A call dropped, another value of one argument, two turns in the other order.

    The audit's own mutants are made from values that the episode has shown; these take a value's
    neighbour, which need not occur anywhere.
    """

    for at, turn in enumerate(turns):
        for place, call in enumerate(turn.tool_calls):
            yield "dropped_call", edited(turns, {(at, place): None})
            tool = tools.get(call.name)
            arguments = call.parsed() if tool is not None and call.parse_error is None else {}
            for name, value in arguments.items():
                known = tool.arguments.get(name) if tool is not None else None
                for other in _others(value, known.schema if known is not None else {}):
                    changed = call_of(call.call_id, call.name, arguments | {name: other})
                    yield "changed_argument", edited(turns, {(at, place): changed})

        if turn.tool_calls and at + 1 < len(turns) and turns[at + 1].tool_calls:
            yield "reordered", (*turns[:at], turns[at + 1], turn, *turns[at + 2 :])


_AFTER = {str(digit): str((digit + 1) % 10) for digit in range(10)}


def _others(value: Any, schema: ToolSchema) -> list[Any]:
    """Other choices of an enumeration, else the value's neighbour: 4 -> 5, "O-17" -> "O-18"."""

    if "enum" in schema:
        return [choice for choice in schema["enum"] if choice != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1]
    if isinstance(value, str) and value:
        last = value[-1]
        return [value[:-1] + _AFTER.get(last, chr(ord(last) ^ 1))]

    return [value[:-1]] if isinstance(value, list) and value else []
