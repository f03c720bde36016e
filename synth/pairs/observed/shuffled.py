"""How many comparisons chance gives: the same trials, their outcomes dealt out anew in a group."""

import random
from collections.abc import Sequence

import msgspec

from synth.topology.partings.states import SharedState

ROUNDS = 20
SEED = 20
Shape = tuple[Sequence[str], int, Sequence[SharedState]]
"""Of a group: its trials, how many of them passed, and the states that they shared."""


class Shuffled(msgspec.Struct, frozen=True):
    """Means over `rounds`: comparisons, and those of a high posterior."""

    pairs: float = 0.0
    likely: float = 0.0
    rounds: int = ROUNDS


def shuffled(groups: Sequence[Shape], likely: float) -> Shuffled:
    """Permutes the outcomes inside each group; the same every time."""
    rng = random.Random(SEED)
    found = sure = 0

    for _ in range(ROUNDS):
        for trials, successes, states in groups:
            passed = set(rng.sample(list(trials), successes))
            partings = [parting for state in states if (parting := state.parting(passed))]
            found += len(partings)
            sure += sum(one.posterior >= likely for one in partings)

    return Shuffled(found / ROUNDS, sure / ROUNDS)
