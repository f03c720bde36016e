"""The expert of a game: it knows the whole game, its plan starts as the walkthrough, and is mended
after every action that leaves it; one with a misconception does, now and then, whatever can be done,
and has to find back.
"""

from collections.abc import Sequence
from random import Random

from textworld.generator.game import Game, GameProgression

from synth.envs.textworld.commands import Command
from synth.envs.textworld.logic import Deed, Logic, action_of, deed_of
from synth.schemas.errors import ConfigError
from synth.schemas.profile import spared

PROFILES = ("correct", "mixed", "wanders")
SHARE = 0.25


class Planner:
    """TextWorld's own tracking of a winning policy, fed with what was done."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._progression = GameProgression(game)
        self._fed = 0

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


def wanders_off(profile: str | None, seed: int, turn: int, logic: Logic) -> Command | None:
    """What is done instead of the plan's next step, or None. Raises `ConfigError` for a profile
    that is not known.

    Food is not eaten: that cannot be mended. `mixed` is one of the others, by the seed.
    """
    name, rid = spared(profile)
    chosen = Random(seed).choice(("correct", "wanders")) if name == "mixed" else name
    chosen = "correct" if chosen in rid else chosen
    if chosen not in PROFILES:
        known = ", ".join(PROFILES)
        raise ConfigError(f"textworld has no expert profile {chosen!r}; it has {known}")
    draw = Random(f"{seed} {turn}")
    if chosen == "correct" or draw.random() >= SHARE:
        return None
    return draw.choice([command for command in logic.possible() if command.tool != "eat"])
