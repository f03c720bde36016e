"""Everything that the trials of one task say, as rows: graph, potentials, measures, credits,
waste.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from synth.ledger.ledger import Score
from synth.ledger.tables.graph_rows import Edge, Node
from synth.schemas.trajectory import Trajectory
from synth.topology.graph import TaskGraph, is_donor, population, task_graph
from synth.topology.keys import CANON_VERSION, Level, TurnKeys, trajectory_keys
from synth.topology.potential import Potential, drops, potentials
from synth.topology.semantic import Merges
from synth.topology.step_credit import Credit, Path, alone, gigpo, graphgpo, salt
from synth.topology.task_measures import (
    error_branch_ratio,
    mixed_group_probability,
    strategic_heterogeneity,
)
from synth.topology.trajectory_measures import (
    agent_turns,
    efficiency,
    excursions,
    process_kept,
    recovered,
    strategy,
)
from synth.topology.volatile import Volatile
from synth.topology.waste import waste_share, wasted

Effectful = Callable[[str], bool]
Keyed = Sequence[tuple[Trajectory, list[TurnKeys]]]
Merging = Callable[[Keyed], Merges]
"""Finds the turns of a task's trials that say the same, for level semantic."""


class TaskRows(msgspec.Struct, frozen=True):
    """Of one task: its graphs, one per population, and scores of its trials and of itself."""

    nodes: list[Node]
    edges: list[Edge]
    scores: list[Score]


def task_rows(
    task_id: str,
    trials: Sequence[Trajectory],
    effectful: Effectful,
    *,
    level: Level = "exact",
    volatile: Volatile | None = None,
    group: int = 8,
    merging: Merging | None = None,
) -> TaskRows:
    """Rows for the trials of a task; those that are none (retries, branches, no verdict) are left
    out. `group`: trials per task in RL.

    `merging` is needed at level semantic.
    """
    populations: dict[str, list[tuple[Trajectory, list[TurnKeys]]]] = {}
    for trajectory in sorted(
        trials, key=lambda one: (one.trial, one.trajectory_id)
    ):  # workers commit them in whatever order
        if is_donor(trajectory):
            populations.setdefault(population(trajectory), []).append(
                (trajectory, trajectory_keys(trajectory, volatile))
            )
    rows = TaskRows([], [], [])
    for name, keyed in populations.items():
        if merging is not None:
            found = merging(keyed)
            rows.scores.extend(_merged(keyed, found))
            keyed = [(trajectory, found.applied(keys)) for trajectory, keys in keyed]
        graph = task_graph(task_id, keyed, level)
        rows.nodes.extend(_nodes(graph, name, keyed))
        rows.edges.extend(
            Edge(task_id, one, other, name, level, count.n, count.n_success)
            for (one, other), count in graph.edges.items()
        )
        rows.scores.extend(_of_trials(graph, keyed, effectful))
        rows.scores.extend(_of_task(graph, name, keyed, effectful, group))
    return rows


def _merged(keyed: Keyed, found: Merges) -> Iterator[Score]:
    """Of every turn that shares its node with other texts: how alike they are, and where to read
    the first of them.
    """
    first: dict[str, tuple[str, int]] = {}
    for trajectory, keys in keyed:
        for turn, key in zip(_turns(trajectory), keys, strict=True):
            first.setdefault(key.turn, (trajectory.trajectory_id, turn))
    for trajectory, keys in keyed:
        for turn, key in zip(_turns(trajectory), keys, strict=True):
            merge = found.by_turn.get(key.turn)
            if merge is not None:
                where = dict(zip(("trajectory_id", "turn"), first[merge.first], strict=True))
                detail = {
                    "node": merge.node,
                    "with": where,
                    "least": merge.least,
                    "threshold": found.threshold,
                }
                yield Score(trajectory.trajectory_id, "merged", merge.similarity, turn, detail)


def _turns(trajectory: Trajectory) -> list[int]:
    """The turns that an agent took, by their index."""
    return [turn.index for turn in trajectory.turns if turn.sampled_by != "canned"]


def _nodes(graph: TaskGraph, name: str, keyed: Keyed) -> Iterator[Node]:
    examples: dict[str, tuple[tuple[str, ...], str | None, int | None]] = {}
    for trajectory, keys in keyed:
        for turn, key in zip(_turns(trajectory), keys, strict=True):
            examples.setdefault(key.node(graph.level), (key.tools, trajectory.trajectory_id, turn))
    for node, count in graph.nodes.items():
        tools, identity, turn_index = examples.get(node, ((), None, None))
        yield Node(
            graph.task_id,
            node,
            name,
            graph.level,
            count.n,
            count.n_success,
            tools,
            identity,
            turn_index,
        )


def _of_trials(graph: TaskGraph, keyed: Keyed, effectful: Effectful) -> Iterator[Score]:
    fits = [
        (trajectory, agent_turns(trajectory))
        for trajectory, _ in keyed
        if trajectory.outcome == "success" and process_kept(trajectory)
    ]
    paths = [_path(trajectory, keys) for trajectory, keys in keyed]
    credits: dict[str, list[Credit]] = {
        "gigpo": gigpo(paths),
        "graphgpo": graphgpo(paths),
        "salt": salt(paths),
    }
    for at, ((trajectory, keys), potential) in enumerate(
        zip(keyed, potentials(graph), strict=True)
    ):
        identity = trajectory.trajectory_id
        turns = _turns(trajectory)
        nodes = [key.node(graph.level) for key in keys]
        yield Score(
            identity,
            "potential",
            potential.mean(),
            detail={**_potential_detail(potential, turns), "nodes": nodes},
        )
        yield from (
            Score(identity, "decisive_drop", potential.by_turn[place], turns[place])
            for place in drops(potential)
        )
        others = [count for other, count in fits if other is not trajectory]
        yield Score(identity, "efficiency", efficiency(len(keys), others))
        writes, reads = strategy(trajectory, effectful)
        yield Score(identity, "strategy", None, detail={"writes": writes, "reads": reads})
        found = excursions(trajectory, keys, potential, effectful)
        yield Score(
            identity,
            "recovered",
            float(recovered(trajectory, found)),
            detail={"excursions": msgspec.to_builtins(found)},
        )
        waste = wasted(trajectory, keys, effectful)
        yield Score(identity, "waste", waste_share(waste, len(keys)), detail=dict(waste))
        for name, credit in credits.items():
            own = credit[at]
            yield Score(
                identity,
                name,
                own.episode,
                detail={"turns": turns, "steps": own.steps, "groups": own.groups},
            )


def _potential_detail(potential: Potential, turns: Sequence[int]) -> dict[str, object]:
    return {
        "turns": turns,
        "by_turn": potential.by_turn,
        "support": potential.support,
        "seen": potential.seen,
        "donors": potential.donors,
        "canon": CANON_VERSION,
    }


def _path(trajectory: Trajectory, keys: Sequence[TurnKeys]) -> Path:
    """States are the world's keys; what a turn was rewarded with is the trial's outcome at its last
    turn, else nothing.
    """
    success = trajectory.outcome == "success"
    opening = trajectory.opening_state_key or "opening"
    states = (opening, *(key.state for key in keys))
    rewards = tuple(float(success) if at == len(keys) - 1 else 0.0 for at in range(len(keys)))
    turns = [turn for turn in trajectory.turns if turn.sampled_by != "canned"]
    invalid = sum(any(o.error for o in turn.observations) for turn in turns)
    return Path(states, tuple(key.action for key in keys), rewards, success, invalid)


def _of_task(
    graph: TaskGraph, name: str, keyed: Keyed, effectful: Effectful, group: int
) -> Iterator[Score]:
    trials, successes = len(graph.trials), sum(trial.success for trial in graph.trials)
    detail = {"population": name, "trials": trials, "successes": successes}
    strategies = [
        strategy(trajectory, effectful)
        for trajectory, _ in keyed
        if trajectory.outcome == "success"
    ]
    yield Score(graph.task_id, "pass_rate", successes / trials, detail=detail)
    yield Score(graph.task_id, "error_branch_ratio", error_branch_ratio(graph), detail=detail)
    yield Score(
        graph.task_id, "strategic_heterogeneity", strategic_heterogeneity(strategies), detail=detail
    )
    yield Score(
        graph.task_id,
        "mixed_group",
        mixed_group_probability(successes, trials, group),
        detail={**detail, "group": group},
    )
    yield Score(graph.task_id, "singletons", graph.singletons(), detail=detail)
    credits = gigpo([_path(trajectory, keys) for trajectory, keys in keyed])
    yield Score(graph.task_id, "step_singletons", alone(credits), detail=detail)
