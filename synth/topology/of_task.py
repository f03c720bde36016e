"""Everything that the trials of one task say, as rows: graph, potentials, measures, credits,
waste.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from synth.ledger.ledger import Score
from synth.ledger.tables.graph_rows import Edge, Node
from synth.schemas import ComparedPotentials, Trajectory
from synth.text.provenance.effect import effectful_by_name
from synth.topology.graph import TaskGraph, is_donor, population, task_graph
from synth.topology.keys import CANON_VERSION, Level, TurnKeys, trajectory_keys
from synth.topology.nondeterminism.masking import Nondeterminism
from synth.topology.potential import Potential, drops, potential_pairs, potentials
from synth.topology.semantic import Merges
from synth.topology.step_credit import Credit, Path, alone, gigpo, graphgpo, salt
from synth.topology.task_measures import (
    error_branch_ratio,
    mixed_group_probability,
    strategic_heterogeneity,
)
from synth.topology.trajectory_measures import (
    efficiency,
    excursions,
    process_kept,
    recovered,
    strategy,
)
from synth.topology.waste import waste_share, wasted

Keyed = Sequence[tuple[Trajectory, list[TurnKeys]]]
Merging = Callable[[Keyed], Merges]
"""Finds the turns of a task's trials that say the same, for level semantic."""


class TaskRows(msgspec.Struct, frozen=True):
    """Of one task: its graphs, one per population, and scores of its trials and of itself.

    What each metric means stands in docs/topology.md.
    """

    nodes: list[Node]
    edges: list[Edge]
    scores: list[Score]


def task_rows(
    task_id: str,
    trials: Sequence[Trajectory],
    *,
    level: Level = "exact",
    nondeterminism: Nondeterminism | None = None,
    group: int = 8,
    merging: Merging | None = None,
) -> TaskRows:
    """Rows for the trials of a task; those that are none (retries, branches, no verdict) are left
    out.

    `level`: how turns are merged; `merging` is needed at level semantic. `nondeterminism`: what is
    masked in answers before they are compared. `group`: trials per task in RL.
    """
    rows = TaskRows([], [], [])
    for name, keyed in _populations(trials, nondeterminism).items():
        if merging is not None:
            found = merging(keyed)
            rows.scores.extend(_merged(keyed, found))
            keyed = [(trajectory, found.applied(keys)) for trajectory, keys in keyed]

        graph = task_graph(task_id, keyed, level)
        rows.nodes.extend(_nodes(graph, name, keyed))
        for one, other, about in graph.ways.edges(data=True):
            rows.edges.append(Edge(task_id, one, other, name, level, **about))

        credits = _credits(keyed)
        rows.scores.extend([*_of_trials(graph, keyed, credits), *_of_pairs(graph)])
        rows.scores.extend(_of_task(graph, name, keyed, group, credits["gigpo"]))

    return rows


def _populations(
    trials: Sequence[Trajectory], nondeterminism: Nondeterminism | None
) -> dict[str, Keyed]:
    """By population, its trials with their keys."""
    found: dict[str, list[tuple[Trajectory, list[TurnKeys]]]] = {}

    # in an order of their own: workers commit trials in whatever order
    for trajectory in sorted(trials, key=lambda one: (one.trial, one.trajectory_id)):
        if is_donor(trajectory):
            keys = trajectory_keys(trajectory, nondeterminism)
            found.setdefault(population(trajectory), []).append((trajectory, keys))

    return {**found}


def _merged(keyed: Keyed, found: Merges) -> Iterator[Score]:
    """Of every turn that shares its node with other texts: how alike they are, and where to read
    the first of them.

    Gives one score `merged` per such turn; its value is the similarity to that first text.
    """
    places = [(trajectory.trajectory_id, key) for trajectory, keys in keyed for key in keys]
    first: dict[str, dict[str, object]] = {}
    for identity, key in places:
        first.setdefault(key.turn, {"trajectory_id": identity, "turn": key.taken.index})

    for identity, key in places:
        merge = found.by_turn.get(key.turn)
        if merge is not None:
            detail = {
                "node": merge.node,
                "with": first[merge.first],
                "least": merge.least,
                "threshold": found.threshold,
            }
            yield Score(identity, "merged", merge.similarity, key.taken.index, detail)


def _nodes(graph: TaskGraph, name: str, keyed: Keyed) -> Iterator[Node]:
    """Each node with a turn of its first trial as the example; START and the ends have none."""
    examples: dict[str, dict[str, Any]] = {}
    for trajectory, keys in keyed:
        for key in keys:
            where = {"trajectory_id": trajectory.trajectory_id, "turn": key.taken.index}
            examples.setdefault(key.node(graph.level), {"tools": key.tools, **where})

    for node, about in graph.ways.nodes(data=True):
        example = examples.get(node, {})
        yield Node(graph.task_id, node, name, graph.level, **about, **example)


def _credits(keyed: Keyed) -> dict[str, list[Credit]]:
    """By method, one credit per trial."""
    paths = [_path(trajectory, keys) for trajectory, keys in keyed]
    return {"gigpo": gigpo(paths), "graphgpo": graphgpo(paths), "salt": salt(paths)}


def _path(trajectory: Trajectory, keys: Sequence[TurnKeys]) -> Path:
    """A trial as the methods of step credit take it.

    States are the environment's keys; what a turn was rewarded with is the trial's outcome at its
    last turn, else nothing. Calls that were refused are invalid actions.
    """
    success = trajectory.outcome == "success"
    states = (trajectory.opening_state_key or "opening", *(key.state for key in keys))
    rewards = [0.0] * len(keys)
    rewards[-1:] = [float(success)] if keys else []
    invalid = sum(any(o.error for o in key.taken.observations) for key in keys)

    return Path(states, tuple(key.action for key in keys), tuple(rewards), success, invalid)


def _of_trials(graph: TaskGraph, keyed: Keyed, credits: dict[str, list[Credit]]) -> Iterator[Score]:
    """What the graph says of each trial: one score a metric."""
    lengths = _lengths(keyed)

    for at, potential in enumerate(potentials(graph)):
        trajectory, keys = keyed[at]
        identity = trajectory.trajectory_id
        yield from _of_potential(trajectory, keys, potential, graph)

        others = [length for other, length in lengths.items() if other != identity]
        yield Score(identity, "efficiency", efficiency(len(keys), others))

        writes, reads = strategy(trajectory, effectful_by_name)
        yield Score(identity, "strategy", None, detail={"writes": writes, "reads": reads})

        waste = wasted(trajectory, keys)
        yield Score(identity, "waste", waste_share(waste, len(keys)), detail=dict(waste))

        turns = [key.taken.index for key in keys]
        for name, credit in credits.items():
            own = credit[at]
            detail = {"turns": turns, "steps": own.steps, "groups": own.groups}
            yield Score(identity, name, own.episode, detail=detail)


def _lengths(keyed: Keyed) -> dict[str, int]:
    """The turns of each success that broke no process constraint: others are short for the wrong
    reason, and no yardstick.
    """
    return {
        trajectory.trajectory_id: len(keys)
        for trajectory, keys in keyed
        if trajectory.outcome == "success" and process_kept(trajectory)
    }


def _of_pairs(graph: TaskGraph) -> Iterator[Score]:
    """What trials are worth beside each other."""
    for pair in potential_pairs(graph):
        about = ComparedPotentials(
            pair.second.trajectory_id, pair.of_first, pair.of_second, pair.donors
        )
        yield Score(pair.first.trajectory_id, "potential_pair", pair.value, detail=about)


def _of_potential(
    trajectory: Trajectory,
    keys: Sequence[TurnKeys],
    potential: Potential,
    graph: TaskGraph,
) -> Iterator[Score]:
    """The potential of one trial turn by turn, its falls, and what became of them.

    No number per trial: trials are compared in pairs.
    """
    identity = trajectory.trajectory_id
    turns = [key.taken.index for key in keys]
    detail = {
        "turns": turns,
        "by_turn": potential.by_turn,
        "support": potential.support,
        "seen": potential.seen,
        "donors": potential.donors,
        "canon": CANON_VERSION,
        "nodes": [key.node(graph.level) for key in keys],
    }

    yield Score(identity, "potential", None, detail=detail)
    for place in drops(potential):
        yield Score(identity, "decisive_drop", potential.by_turn[place], turns[place])

    found = excursions(keys, potential)
    back = float(recovered(trajectory, found))
    yield Score(identity, "recovered", back, detail={"excursions": msgspec.to_builtins(found)})


def _of_task(
    graph: TaskGraph,
    name: str,
    keyed: Keyed,
    group: int,
    credits: Sequence[Credit],
) -> Iterator[Score]:
    """What the graph says of the task: one score a metric."""
    trials = len(graph.trials)
    successes = sum(trial.success for trial in graph.trials)
    strategies = [strategy(one, effectful_by_name) for one, _ in keyed if one.outcome == "success"]
    detail = {"population": name, "trials": trials, "successes": successes}
    values = {
        "pass_rate": successes / trials,
        "error_branch_ratio": error_branch_ratio(graph),
        "strategic_heterogeneity": strategic_heterogeneity(strategies),
        "mixed_group": mixed_group_probability(successes, trials, group),
        "singletons": graph.singletons(),
        "step_singletons": alone(credits),
    }

    # the chance of a mixed group is one for a size of the group
    for metric, value in values.items():
        about = {**detail, "group": group} if metric == "mixed_group" else detail
        yield Score(graph.task_id, metric, value, detail=about)
