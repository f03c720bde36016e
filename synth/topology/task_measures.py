"""What the graph says about a task: how its branches fail, how many ways lead to success, what it
is worth for RL.
"""

from collections.abc import Hashable, Sequence
from math import prod

from synth.topology.graph import FAILURE, SUCCESS, TaskGraph

PRIOR = (1.0, 1.0)
"""Of a pass rate, as a Beta distribution."""
CROWD = 8
"""From so many trials on, a child counts only where two of them came by."""


def error_branch_ratio(graph: TaskGraph) -> float | None:
    """Edges out of branching nodes into children that never succeed, while a sibling does, over all
    edges out of branching nodes.

    How often a choice went wrong that others got right (TopoCurate's notion, our formula). None
    without a branching node, and without both outcomes.
    """
    if not graph.mixed:
        return None

    # in a crowd what one trial did may be chance
    least = 2 if len(graph.trials) >= CROWD else 1
    inner = {
        node: about["n_success"]
        for node, about in graph.ways.nodes(data=True)
        if node not in (SUCCESS, FAILURE) and about["n"] >= least
    }

    wrong = total = 0
    for node in graph.ways:
        children = [inner[child] for child in graph.ways.successors(node) if child in inner]
        if len(children) > 1:
            total += len(children)
            wrong += children.count(0) if any(children) else 0

    return wrong / total if total else None


def strategic_heterogeneity(strategies: Sequence[Hashable]) -> float | None:
    """Distinct strategies among the successes, over the successes; None for fewer than three."""
    return len(set(strategies)) / len(strategies) if len(strategies) >= 3 else None


def mixed_group_probability(successes: int, trials: int, group: int) -> float:
    """E[1 - p^G - (1-p)^G] under the Beta posterior of the pass rate p: the chance that G trials
    have both outcomes.

    Exact: E[p^G] = prod_{i<G} (a + i) / (a + b + i). Raises `ValueError` for counts that cannot be.
    """
    if not 0 <= successes <= trials or group < 1:
        raise ValueError(f"{successes} successes of {trials} trials, group {group}")

    a, b = PRIOR[0] + successes, PRIOR[1] + trials - successes
    all_pass = prod((a + i) / (a + b + i) for i in range(group))
    all_fail = prod((b + i) / (a + b + i) for i in range(group))

    return 1.0 - all_pass - all_fail
