"""The expert of a game: it knows the whole game, its plan starts as the walkthrough, and is mended
after every action that leaves it; one with a misconception does, now and then, whatever can be
done, and has to find back.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from random import Random

from textworld.generator.game import Game, GameProgression

from synth.envs.textworld.commands import Command
from synth.envs.textworld.logic import (
    Deed,
    Logic,
    action_of,
    deed_of,
)

SHARE = 0.25
"""How often an expert that wanders leaves its plan."""


class Planner:
    """TextWorld's own tracking of a winning policy, fed with what was done."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._fed = 0

    @cached_property
    def _progression(self) -> GameProgression:
        # made when it is first asked for: most episodes have no expert
        return GameProgression(self._game)

    def next_deed(self, deeds: Sequence[Deed]) -> Deed | None:
        """The next action of a plan that wins after these actions; None where none is known (what
        is needed was eaten).
        """

        for deed in deeds[self._fed :]:
            self._progression.update(action_of(self._game, deed))
        self._fed = len(deeds)
        plan = (self._progression.winning_policy or ())[:1]
        possible = (action for action in self._progression.valid_actions if action in plan)

        return next((deed_of(self._game, action) for action in possible), None)


def winning(logic: Logic) -> Iterator[Command]:
    """The commands of a plan, each done as it is given, until the game is won or there is no plan
    any more.
    """

    planner = Planner(logic.game)
    while not logic.won:
        deed = planner.next_deed(logic.deeds)
        if deed is None:
            return
        logic.do(deed)
        yield logic.command(deed)


def wanders_off(
    seed: int,
    turn: int,
    logic: Logic,
) -> Command | None:
    """What is done instead of the plan's next step, or None. Food is not eaten: that cannot be
    mended.
    """
    draw = Random(f"{seed} {turn}")
    if draw.random() >= SHARE:
        return None
    return draw.choice([command for command in logic.possible() if command.tool != "eat"])
