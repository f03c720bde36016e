"""The trials of a task merged into one graph: nodes are turns that are the same, edges what
followed what; cycles stay.

Structure after TopoCurate (arXiv 2603.01714), which gives no formulas; identity and counts are our
definition. Only base trials of one
policy under one sampling count: retries, branches and injected runs are interventions, and say
nothing about how often a turn is reached.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from synth.schemas.canonical import content_hash
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Trajectory
from synth.topology.keys import Level, TurnKeys

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


class Count(msgspec.Struct):
    """Trials that came by, and those of them that succeeded: each trial once, so that loops do not
    inflate.
    """

    n: int = 0
    n_success: int = 0

    def add(self, success: bool) -> None:
        """One more trial."""
        self.n += 1
        self.n_success += success


class TaskGraph(msgspec.Struct, frozen=True):
    """Counts by node and by edge; START before every first turn, SUCCESS or FAILURE after every
    last one.
    """

    task_id: str
    level: Level
    trials: tuple[GraphTrial, ...]
    nodes: Mapping[str, Count]
    edges: Mapping[tuple[str, str], Count]

    @property
    def mixed(self) -> bool:
        """Whether some trials succeeded and some did not: without both there is nothing to tell
        apart.
        """
        return 0 < sum(trial.success for trial in self.trials) < len(self.trials)

    def successors(self) -> dict[str, list[str]]:
        """Node -> distinct nodes that followed it, in the order of their first appearance."""
        found: dict[str, list[str]] = {}
        for one, other in self.edges:
            found.setdefault(one, []).append(other)
        return found

    def singletons(self) -> float | None:
        """Share of the nodes that one trial alone visited; None without nodes."""
        inner = [
            count for node, count in self.nodes.items() if node not in (START, SUCCESS, FAILURE)
        ]
        return sum(count.n == 1 for count in inner) / len(inner) if inner else None


def is_donor(trajectory: Trajectory) -> bool:
    """Whether a trajectory is a trial of its task, with a verdict: nothing put in the policy's
    place, nothing whispered.
    """
    base = (
        trajectory.synthesizer in BASE
        and trajectory.parent_id is None
        and trajectory.guidance is None
    )
    return (
        base
        and trajectory.outcome in COUNTED
        and not any(turn.injected for turn in trajectory.turns)
    )


def population(trajectory: Trajectory) -> str:
    """Who played it, how it was sampled and what it was shown first: trials of different
    populations are never counted together.
    """
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
    """The graph of trials of one task and one population. Raises `ValueError` for trajectories that
    are no such trials.
    """
    trials: list[GraphTrial] = []
    populations: set[str] = set()
    for trajectory, keys in paths:
        if trajectory.task_id != task_id or not is_donor(trajectory):
            raise ValueError(f"trajectory {trajectory.trajectory_id} is no trial of task {task_id}")
        populations.add(population(trajectory))
        trials.append(
            GraphTrial(
                trajectory.trajectory_id,
                trajectory.outcome is Outcome.SUCCESS,
                tuple(key.node(level) for key in keys),
            )
        )
    if len(populations) > 1:
        raise ValueError(
            f"task {task_id}: trials of {len(populations)} policies, models or samplings make no "
            "one graph"
        )
    return graph_of(task_id, trials, level)


def graph_of(task_id: str, trials: Sequence[GraphTrial], level: Level = "exact") -> TaskGraph:
    """The graph of paths."""
    nodes: dict[str, Count] = {}
    edges: dict[tuple[str, str], Count] = {}
    for trial in trials:
        path = (START, *trial.nodes, SUCCESS if trial.success else FAILURE)
        for node in dict.fromkeys(path):
            nodes.setdefault(node, Count()).add(trial.success)
        for edge in dict.fromkeys(itertools.pairwise(path)):
            edges.setdefault(edge, Count()).add(trial.success)
    return TaskGraph(task_id, level, tuple(trials), nodes, edges)


def as_networkx(graph: TaskGraph) -> Any:
    """A `networkx.DiGraph` with `n` and `n_success` on nodes and edges; `networkx.write_graphml`
    takes it as it is.
    """
    import networkx

    found = networkx.DiGraph(task_id=graph.task_id, level=graph.level)
    for node, count in graph.nodes.items():
        found.add_node(node, n=count.n, n_success=count.n_success)
    for (one, other), count in graph.edges.items():
        found.add_edge(one, other, n=count.n, n_success=count.n_success)
    return found
