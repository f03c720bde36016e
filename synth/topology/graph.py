"""The trials of a task merged into one graph: nodes are turns that are the same, edges what
followed what; cycles stay.

Structure after TopoCurate (arXiv 2603.01714), which gives no formulas; identity and counts are our
definition. Only base trials of one policy under one sampling count: retries, branches and injected
runs are interventions, and say nothing about how often a turn is reached.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from synth.schemas import Outcome, Trajectory, content_hash
from synth.topology.keys import Level, TurnKeys

if TYPE_CHECKING:
    import networkx

START, SUCCESS, FAILURE = "START", "SUCCESS", "FAILURE"
BASE = frozenset({"rollout", "import"})
"""Synthesizers whose trajectories are trials of a task."""
COUNTED = frozenset({Outcome.SUCCESS, Outcome.FAILURE, Outcome.TRUNCATED})
"""Outcomes with a verdict; what was truncated has not solved its task."""


class GraphTrial(msgspec.Struct, frozen=True):
    """One trajectory as a path through the graph; `nodes` has one entry per turn of the agent."""

    trajectory_id: str
    success: bool
    nodes: tuple[str, ...]


class TaskGraph(msgspec.Struct, frozen=True):
    """Trials and the ways that they took: START before every first turn, SUCCESS or FAILURE after
    every last one.

    Nodes and edges of `ways` carry `n`, the trials that came by, and `n_success`, those of them
    that succeeded; each trial counts once, so that loops do not inflate.
    """

    task_id: str
    level: Level
    trials: tuple[GraphTrial, ...]
    ways: "networkx.DiGraph[Any]"

    @property
    def mixed(self) -> bool:
        """Whether some trials succeeded and some did not: without both there is nothing to tell
        apart.
        """
        return 0 < sum(trial.success for trial in self.trials) < len(self.trials)

    def singletons(self) -> float | None:
        """Share of the nodes that one trial alone visited; None without nodes."""
        ends = (START, SUCCESS, FAILURE)
        inner = [n for node, n in self.ways.nodes(data="n") if node not in ends]
        return inner.count(1) / len(inner) if inner else None


def is_donor(trajectory: Trajectory) -> bool:
    """Whether a trajectory is a trial of its task, with a verdict: nothing put in the policy's
    place, no hidden guidance.
    """
    return (
        trajectory.synthesizer in BASE
        and trajectory.parent_id is None
        and trajectory.guidance is None
        and trajectory.outcome in COUNTED
        and not any(turn.injected for turn in trajectory.turns)
    )


def population(trajectory: Trajectory) -> str:
    """Who played it, how it was sampled and what it was shown first: trials of different
    populations are never counted together.
    """
    # the name of a population is content: the same on every machine and in every run
    who = [
        trajectory.policy,
        trajectory.model,
        trajectory.role,
        trajectory.weights_id,
        dict(trajectory.sampling),
    ]
    return content_hash([who, trajectory.system_prompt, trajectory.tools])


def task_graph(
    task_id: str, paths: Iterable[tuple[Trajectory, Sequence[TurnKeys]]], level: Level = "exact"
) -> TaskGraph:
    """The graph of trials of one task and one population, each with its keys.

    `level` says which turns are one node. Raises `ValueError` for trajectories that are no such
    trials.
    """
    trials: list[GraphTrial] = []
    populations: set[str] = set()

    for trajectory, keys in paths:
        identity, success = trajectory.trajectory_id, trajectory.outcome is Outcome.SUCCESS
        if trajectory.task_id != task_id or not is_donor(trajectory):
            raise ValueError(f"trajectory {identity} is no trial of task {task_id}")

        populations.add(population(trajectory))
        trials.append(GraphTrial(identity, success, tuple(key.node(level) for key in keys)))

    if len(populations) > 1:
        raise ValueError(
            f"task {task_id}: trials of {len(populations)} policies, models or samplings make no "
            "one graph"
        )

    return graph_of(task_id, trials, level)


def graph_of(task_id: str, trials: Sequence[GraphTrial], level: Level = "exact") -> TaskGraph:
    """The graph of paths. Nodes and edges stand in the order of their first appearance."""
    import networkx

    # the counts are the attributes themselves: networkx measures and writes them as they are
    ways = networkx.DiGraph(task_id=task_id, level=level)

    for trial in trials:
        path = (START, *trial.nodes, SUCCESS if trial.success else FAILURE)
        networkx.add_path(ways, path)
        visited = [ways.nodes[node] for node in set(path)]
        taken = [ways[one][other] for one, other in set(pairwise(path))]

        for about in (*visited, *taken):
            about["n"] = about.get("n", 0) + 1
            about["n_success"] = about.get("n_success", 0) + trial.success

    return TaskGraph(task_id, level, tuple(trials), ways)
