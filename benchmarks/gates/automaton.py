"""AgentLens (arXiv 2605.12925): how far a pass goes the way of other passes of its task, as tiers.

A reference is the paths of five other passes, never the scored one; the score is the published one
without its outcome term. Stages are our own, so that they fit every world: a call that changes
something implements, one that looks afterwards verifies, one before explores, words organise.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from random import Random
from statistics import median

from synth.schemas import Trajectory
from synth.text.provenance.effect import effectful_by_name

DONORS, DRAWS = 5, 3
IDEAL, LUCKY = 60, 37
"""Scores from which a pass is ideal, and below which it is lucky; between them it is solid."""
_ORDER = "EIVO"
Step = tuple[str, str, str]
"""Stage, tool, arguments as they were written."""


def steps(trajectory: Trajectory) -> list[Step]:
    """The path of a trajectory: a step for each call, one for a turn of words."""
    found, changed = list[Step](), False
    for turn in trajectory.turns:
        for call in turn.tool_calls:
            changes = effectful_by_name(call.name)
            stage = "I" if changes else "V" if changed else "E"
            changed = changed or changes
            found.append((stage, call.name, call.arguments))
        if not turn.tool_calls:
            found.append(("O", "", ""))

    return found


def score(path: Sequence[Step], reference: Sequence[Step]) -> float:
    """q0: 0 to 90, of coverage, coherence, stages, the order of stages, and F1."""
    matched = (Counter(path) & Counter(reference)).total()
    coverage, precision = matched / len(reference), matched / len(path)
    f1 = 2 * coverage * precision / (coverage + precision) if matched else 0.0
    one, other = ([step[0] for step in steps] for steps in (path, reference))
    stages = len(set(one) & set(other)) / len(set(other))
    order = _common(one, other) / max(len(one), len(other))

    return 25 * coverage + 25 * _coherence(path) + 18 * stages + 12 * order + 10 * f1


def _coherence(path: Sequence[Step]) -> float:
    """Moves that go on through the stages, less those back, less steps made more than twice."""
    moves = [_ORDER.index(b[0]) - _ORDER.index(a[0]) for a, b in itertools.pairwise(path)]
    on = sum(move > 0 for move in moves)
    back = sum(move < 0 for move in moves)
    excess = sum(max(0, count - 2) for count in Counter(path).values())
    share = on / (on + back) if on + back else 1.0

    return share * (1 - excess / max(1, len(moves)))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for mine in one:
        before = row
        row = [0]
        for at, theirs in enumerate(other, start=1):
            row.append(before[at - 1] + 1 if mine == theirs else max(before[at], row[-1]))

    return row[-1]


def process_score(one: Trajectory, passes: Sequence[Trajectory], seed: int = 0) -> float | None:
    """The median over three draws of five other passes of the best score against one of them; None
    where there are fewer than five.
    """
    others = [steps(other) for other in passes if other.trajectory_id != one.trajectory_id]
    path, others = steps(one), [other for other in others if other]
    if len(others) < DONORS or not path:
        return None

    rng = Random(f"{seed} {one.trajectory_id}")
    draws = [rng.sample(others, DONORS) for _ in range(DRAWS)]

    return median(max(score(path, reference) for reference in drawn) for drawn in draws)


def tier(value: float) -> str:
    """`ideal`, `solid` or `lucky`."""
    return "ideal" if value >= IDEAL else "solid" if value >= LUCKY else "lucky"
