"""What exploring a world without a task found, and what is derived from it: a window of operations,
and the task that it turns into.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from synth.schemas.check import Facts, Refusal, Scalar, Tell
from synth.schemas.environment import AgentTurn, Opening
from synth.schemas.trajectory import Turn


class Change(msgspec.Struct, frozen=True):
    """A fact before and after; None where the path did not exist."""

    before: Scalar
    after: Scalar


class Operation(msgspec.Struct, frozen=True):
    """One turn of an exploration that changed the world's logical state, that the world refused, or
    that showed something.

    `at` is its turn in the walk; `changed` are the paths whose facts differ, volatile ones left
    out; `denied` says by which rule the
    world refused it: then nothing has changed. `shown` is what a look-up was answered; None for
    what is none.
    """

    at: int
    turn: AgentTurn
    changed: Mapping[str, Change]
    denied: str | None = None
    shown: tuple[str, ...] | None = None


class Window(msgspec.Struct, frozen=True):
    """Operations of one walk that belong together, as they go when played from the start of the
    world, with nothing else between but
    turns that they need and that change only what is free (the way to a room, a bell to be rung
    first).

    `walk` holds all turns of the exploration with what was observed; `start` and `end` are the
    world's facts before and after the
    window's operations alone.
    """

    env: str
    env_config: Mapping[str, Any]
    seed: int
    opening: Opening
    walk: tuple[Turn, ...]
    operations: tuple[Operation, ...]
    start: Facts
    end: Facts


class Draft(msgspec.Struct, frozen=True):
    """A goal for a window in words: what the agent is told, what the world's user knows, what must
    be said beside the state's change.

    `low_level` has one instruction per operation; `structure` is the goal with its entities masked,
    by which distinct goals are
    counted (empty: by what its check demands); `free` are path patterns that a right solution may
    change beside those that the world
    declares free, `asked` patterns of the world's free facts that this goal asks for, and that are
    not free in it. `answer` is
    the turn in which an agent tells the `told` facts of a goal that asks for them alone. `worded`
    is the goal as a model words it: the task has it, the tests are run on `goal`.
    """

    goal: str
    low_level: tuple[str, ...]
    structure: str
    script: Mapping[str, Any] = msgspec.field(default_factory=dict)
    env_config: Mapping[str, Any] | None = None
    told: tuple[Tell, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    process: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    answer: AgentTurn = AgentTurn()
    seed: int | None = None
    worded: str = ""


class NoGoal(msgspec.Struct, frozen=True):
    """Why a window cannot be made a task; a short stable reason that becomes a counter."""

    reason: str


WriteGoal = Callable[[Window], Draft | NoGoal]
"""A world's own rules for saying what a window achieves."""
