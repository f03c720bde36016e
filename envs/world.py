"""A world as the registry names it: what it is, how it opens, which tasks it makes, which settings
it takes.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from synth.envs.transcript import Transcript
from synth.schemas import (
    AgentTurn,
    Draft,
    Env,
    EnvSpec,
    Episode,
    Policy,
    Task,
    Tell,
    Trajectory,
    UnboundError,
    UserScript,
    WriteGoal,
)

Edits = Callable[[Task, Transcript], Iterable[tuple[str, Sequence[AgentTurn]]]]
"""A solved episode of a task, done otherwise: (a name for what is other, the turns)."""


@dataclass(frozen=True)
class Questions:
    """What a goal can ask for: what a call of one of the `tools` shows. `elsewhere` says what a
    task that asks so would be answered in the
    world of another seed, None where nobody could ask it there.
    """

    tools: frozenset[str]
    elsewhere: Callable[[Task, int], Sequence[Tell] | None]


@dataclass(frozen=True)
class EnvStart:
    """How a world is started, which its user alone says (flows/own/bindings.py): no task, row or
    file of a run does.

    `settings` is what may be said, of which those in `paths` are paths; `bound` gives the world
    that is started so, whose `start` is
    None. No key stands in `settings` and in the world's `config` as well.
    """

    settings: type[BaseModel]
    bound: Callable[[Any], "EnvEntry"]
    paths: tuple[str, ...] = ()


def unbound(*_: Any, **__: Any) -> Any:
    """Stands for `open` and `make_tasks` of a world that nobody has said how to start. Raises
    `UnboundError`.
    """
    raise UnboundError(
        "this environment is started by what its user says of it, and nothing was said: bind it "
        "first (docs/security.md)"
    )


@dataclass(frozen=True)
class EnvEntry:
    """`open` takes the world's settings; `make_tasks` takes settings, seed and count, and gives the
    same tasks each time.

    `config` are settings that tasks carry: data from anywhere, so nothing in them may start,
    import, read or allow anything, and each
    is bounded. What does belongs to `start`; a world that has one is opened only as its
    `Start.bound` gives it.

    `level` names the setting, a number from 0 (easiest) to 1, that makes tasks harder: by it a
    flow's `difficulty` is calibrated.
    `user` lets a model play the world's user, in place of its own rules. `write_goal` says what a
    window of an exploration achieves;
    `reword` puts a model's words for each request of a draft in their place, and raises
    `ValueError` where they say something else.
    `exploring` gives the settings of the start state in which an exploration with a seed takes
    place, of which those in `told_apart_by`
    tell explorations apart and, like the seed, change nothing in a task; `on_request` are patterns
    of free
    facts that a goal may ask for all the same; `questions`, of a world whose check knows answers,
    which answers it may ask for.
    `start_state` is a hash of what determines the start of its tasks and lies outside the settings,
    such as a folder: where it has
    changed, tasks are made anew. `secrets` are texts that no observation of a task may show.
    `relive` does a logged trial of another harness again, and gives it with its task as this world
    records it, or the reason why it cannot.
    `bots` must fail every task; `mutants` of a solved episode must
    fail, `alternatives` must pass.
    """

    spec: EnvSpec
    open: Callable[[Mapping[str, Any]], Env]
    make_tasks: Callable[[Mapping[str, Any], int, int], Sequence[Task]]
    config: type[BaseModel]
    level: str | None = None
    user: UserScript | None = None
    write_goal: WriteGoal | None = None
    reword: Callable[[Draft, Sequence[str]], Draft] | None = None
    exploring: Callable[[Mapping[str, Any], int], Mapping[str, Any]] | None = None
    on_request: tuple[str, ...] = ()
    questions: Questions | None = None
    start_state: Callable[[Mapping[str, Any]], str] | None = None
    told_apart_by: tuple[str, ...] = ()
    secrets: Callable[[Task], Iterable[str]] | None = None
    bots: Mapping[str, Callable[[Episode], Policy]] = field(default_factory=dict)
    mutants: Edits | None = None
    alternatives: Edits | None = None
    relive: Callable[[Task, Trajectory], Awaitable[tuple[Task, Trajectory] | str]] | None = None
    start: EnvStart | None = None
