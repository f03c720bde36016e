"""Success potential, leave-one-out and centred: how much better than the task's other trials those
did that came by the same turn.

    phi_i(v) = (s_D(v) + kappa * p_D) / (n_D(v) + kappa) - p_D        D = the task's trials without
    i, p_D = their pass rate

0 = no information, undefined where no donor came by. Our definition (rigor.md 8.1): with the
trial's own outcome in it, or uncentred, the estimate holds the label (within-task AUROC .999 and
.21 on pure noise).

Within a trial it says where things went wrong. Trials are compared in pairs alone, both by the
same donors, the task's trials without the two (leave-pair-out, Airola et al. 2011): where each is
a donor of the other, noise is ranked at .39 to .46. A pair that says nothing counts a half, so that
the number of pairs does not depend on the outcomes: the mean over those that say something is
.467 on noise.
"""

from collections.abc import Iterator, Sequence

import msgspec

from synth.topology.graph import GraphTrial, TaskGraph

KAPPA = 2.0
SEEN = 0.3
"""A trial with a smaller share of turns that a donor came by has no potential of its own."""
PAIRED = 8
"""Trials after it, in a ring of the task's trials, with which each is compared: up to 17 trials
these are all pairs.
"""


class Potential(msgspec.Struct, frozen=True):
    """Of one trial: per turn the potential and how many donors came by (`support`); `seen` is the
    share of turns with any.
    """

    trajectory_id: str
    donors: int
    pass_rate: float | None
    by_turn: tuple[float | None, ...]
    support: tuple[int, ...]
    seen: float

    def mean(self, turns: int | None = None) -> float | None:
        """Over the first `turns` turns, or all; None where fewer than `SEEN` of them are known."""
        part = self.by_turn[:turns]
        known = [value for value in part if value is not None]
        return sum(known) / len(known) if known and len(known) >= SEEN * len(part) else None


class PotentialPair(msgspec.Struct, frozen=True):
    """Two trials of a task and their mean potentials by the same donors, None where too few turns
    are known.
    """

    first: GraphTrial
    second: GraphTrial
    of_first: float | None
    of_second: float | None
    donors: int

    @property
    def value(self) -> float:
        """1 where the first one does better, 0 where the second one does, else a half."""
        if self.of_first is None or self.of_second is None:
            return 0.5
        return (self.of_first > self.of_second) + 0.5 * (self.of_first == self.of_second)


def pair_of(
    graph: TaskGraph, first: GraphTrial, second: GraphTrial, turns: int | None = None
) -> PotentialPair:
    """Compares two trials by their first `turns` turns, or all."""
    both = (first, second)
    of_first, of_second = (potential(graph, one, both).mean(turns) for one in both)
    return PotentialPair(first, second, of_first, of_second, len(graph.trials) - 2)


def potential_pairs(graph: TaskGraph) -> Iterator[PotentialPair]:
    """Yields each pair of trials once, whatever their outcomes; of many trials, those at most
    `PAIRED` places apart.
    """
    trials = graph.trials
    count = len(trials)
    for at, first in enumerate(trials):
        for step in range(1, min(PAIRED, count // 2) + 1):
            # half a ring further lies the pair that its other end has given already
            if 2 * step < count or at < step:
                yield pair_of(graph, first, trials[(at + step) % count])


def potentials(graph: TaskGraph) -> list[Potential]:
    """One per trial, in their order."""
    return [potential(graph, trial, (trial,)) for trial in graph.trials]


def potential(graph: TaskGraph, trial: GraphTrial, left_out: Sequence[GraphTrial]) -> Potential:
    """Of one trial by the trials of the graph but some, of which it is one.

    `left_out` is the trial alone, or a pair that is to be compared by the same donors.
    """
    donors = len(graph.trials) - len(left_out)
    successes = sum(one.success for one in graph.trials) - sum(one.success for one in left_out)
    rate = successes / donors if donors else 0.0

    # a trial counts once at a node, however often it came by
    visited = [(one.success, set(one.nodes)) for one in left_out]

    values: list[float | None] = []
    support: list[int] = []

    for node in trial.nodes:
        there = [success for success, nodes in visited if node in nodes]
        about = graph.ways.nodes[node]
        n, n_success = about["n"] - len(there), about["n_success"] - sum(there)
        support.append(n)
        values.append((n_success + KAPPA * rate) / (n + KAPPA) - rate if n else None)

    seen = sum(n > 0 for n in support) / len(support) if support else 0.0
    return Potential(
        trial.trajectory_id, donors, rate if donors else None, tuple(values), tuple(support), seen
    )


def drops(potential: Potential, by: float = 0.25, support: int = 2) -> Sequence[int]:
    """Turns at which the potential falls by at least `by` from the last known one, both with
    `support` donors.

    A drop is correlation, and only proposes a turn for an interventional test.
    """
    found: list[int] = []
    last = 0.0

    for turn, (value, n) in enumerate(zip(potential.by_turn, potential.support, strict=True)):
        if value is not None and n >= support:
            if last - value >= by:
                found.append(turn)
            last = value

    return found
