"""A planner that knows the whole game: its plan starts as the walkthrough, and is mended after
every action that leaves it.
"""

from collections.abc import Sequence

from textworld.generator.game import Game, GameProgression

from synth.envs.textworld.logic import Deed, action_of, deed_of


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
        plan = self._progression.winning_policy
        if not plan:
            return None
        return next(
            (
                deed_of(self._game, action)
                for action in self._progression.valid_actions
                if action == plan[0]
            ),
            None,
        )
