"""Where an exploration takes place, and the subtrajectories of its walk that tasks are made of."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from synth.envs.world import EnvEntry
from synth.schemas import Draft, NoGoal, Operation, Window
from synth.synthesizers.reverse.exploration import Walk, tool_of
from synth.synthesizers.reverse.subtrajectories import windows

DEEDS_PER_QUESTION = 4
"""Subtrajectories of operations for one of look-ups: with all look-ups, half of the tasks are
questions (measured on the storefront).
"""


@dataclass(frozen=True)
class Ground:
    """The environment of an exploration, and what its tasks inherit: settings of the start state,
    seed, split, benchmark, name.

    `longest`: the most operations of a task; `asks`: whether the writer of goals can ask questions.
    """

    entry: EnvEntry
    env: str
    env_config: Mapping[str, Any]
    seed: int
    split: str | None
    benchmark: str | None
    exploration: str
    longest: int
    asks: bool
    write: Callable[[Window], Awaitable[Draft | NoGoal]]

    @property
    def zones(self) -> Mapping[str, str]:
        """The environment's zones, with facts that a goal may ask for as if they were required."""
        return {**self.entry.spec.facts, **dict.fromkeys(self.entry.on_request, "required")}


def windows_of(
    walk: Walk,
    ground: Ground,
    draw: Random,
) -> list[list[Operation]]:
    """Lists, in a drawn order, the operations that belong together, and look-ups whose answers the
    environment can be asked for, one for every `DEEDS_PER_QUESTION` of the others.
    """

    asked = ground.entry.questions
    tools = asked.tools if ground.asks and asked is not None else frozenset[str]()
    reads = [
        read
        for read in walk.reads
        if len(read.turn.tool_calls) == 1 and tool_of(read.turn) in tools
    ]

    deeds, questions = (
        [
            [among[at] for at in one]
            for one in windows(
                among,
                walk.start,
                ground.longest,
                draw,
            )
        ]
        for among in (walk.operations, reads)
    )

    # no draw: the order of the others is drawn already
    if not questions:
        return deeds

    found = deeds + questions[: max(len(deeds) // DEEDS_PER_QUESTION, 1)]
    draw.shuffle(found)

    return found
