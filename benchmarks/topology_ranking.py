"""Topology: what the other trials of a task know about a trial, by how much of it was seen; with
the outcomes shuffled, and as they are.

Run: `python -m benchmarks.topology_ranking [FOLDER]` (trajectories to import, by default
../shared/data; then the storefront)
"""

import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from random import Random

from benchmarks.storefront_pool import pool
from benchmarks.within_tasks import RankAgreement, of_pairs, pairwise, within_tasks
from synth.engine.progress import progress_for
from synth.importers.commit import import_into
from synth.ledger.ledger import StoredLedger
from synth.schemas.trajectory import Trajectory
from synth.topology.graph import GraphTrial, TaskGraph, graph_of, is_donor, population, task_graph
from synth.topology.keys import Level, TurnKeys, trajectory_keys
from synth.topology.potential import potentials

LEAST = 4
PREFIXES = (1, 2, 4, 6, 8, 12, None)
DEALT = 2500
"""Tasks times shuffles: 50 shuffles of 50 tasks err by less than .01."""
Rank = Callable[[Mapping[str, TaskGraph], int | None], RankAgreement | None]


def graphs(trajectories: Iterable[Trajectory], level: Level = "exact") -> dict[str, TaskGraph]:
    """The tasks with at least `LEAST` trials of one population, both outcomes among them."""
    found: dict[tuple[str, str], list[tuple[Trajectory, list[TurnKeys]]]] = {}
    for trajectory in trajectories:
        if is_donor(trajectory):
            found.setdefault((trajectory.task_id, population(trajectory)), []).append(
                (trajectory, trajectory_keys(trajectory))
            )
    made = {
        f"{task} {who}": task_graph(task, trials, level)
        for (task, who), trials in found.items()
        if len(trials) >= LEAST
    }
    return {name: graph for name, graph in made.items() if graph.mixed}


def by_pairs(tasks: Mapping[str, TaskGraph], prefix: int | None) -> RankAgreement | None:
    """Both trials of a pair scored by the others."""
    return of_pairs({name: pairwise(graph, prefix) for name, graph in tasks.items()})


def one_by_one(tasks: Mapping[str, TaskGraph], prefix: int | None) -> RankAgreement | None:
    """Every trial scored by all the others, the one that it is compared with among them."""
    scored = {}
    for name, graph in tasks.items():
        means = [
            (potential.mean(prefix), trial.success)
            for trial, potential in zip(graph.trials, potentials(graph), strict=True)
        ]
        scored[name] = [(mean, success) for mean, success in means if mean is not None]
    return within_tasks(scored)


def shuffled(tasks: Mapping[str, TaskGraph], seed: int) -> dict[str, TaskGraph]:
    """The same paths with the outcomes of each task dealt anew."""
    rng = Random(seed)
    found = {}
    for name, graph in tasks.items():
        outcomes = [trial.success for trial in graph.trials]
        rng.shuffle(outcomes)
        dealt = [
            GraphTrial(trial.trajectory_id, success, trial.nodes)
            for trial, success in zip(graph.trials, outcomes, strict=True)
        ]
        found[name] = graph_of(graph.task_id, dealt, graph.level)
    return found


def noise(tasks: Mapping[str, TaskGraph], rank: Rank, prefix: int | None) -> float | None:
    """The mean over shuffles: .5 where the measure is fair."""
    seeds = range(max(5, min(50, DEALT // len(tasks))))
    found = [
        ranking.auroc
        for seed in seeds
        if (ranking := rank(shuffled(tasks, seed), prefix)) is not None
    ]
    return sum(found) / len(found) if found else None


def show(title: str, tasks: Mapping[str, TaskGraph]) -> None:
    """Prints a table, noise before signal."""
    trials = sum(len(graph.trials) for graph in tasks.values())
    print(
        f"\n## {title}\n\n{len(tasks)} tasks with at least {LEAST} trials and both outcomes, "
        f"{trials} trials; 95 % intervals by task\n"
    )
    print(
        "| turns seen | outcomes shuffled | AUROC within tasks | tasks, pairs | one by one | its "
        "shuffle |\n|---|---|---|---|---|---|"
    )
    for prefix in PREFIXES:
        pairs, singly = by_pairs(tasks, prefix), one_by_one(tasks, prefix)
        if pairs is None or singly is None:
            print(f"| {prefix or 'all'} | none known | | | | |")
            continue
        cells = [
            f"{noise(tasks, by_pairs, prefix):.3f}",
            f"{pairs.auroc:.2f} ({pairs.low:.2f} to {pairs.high:.2f})",
            f"{pairs.tasks}, {pairs.pairs}",
            f"{singly.auroc:.2f}",
            f"{noise(tasks, one_by_one, prefix):.3f}",
        ]
        print(f"| {prefix or 'all'} | {' | '.join(cells)} |", flush=True)


def main(folder: Path) -> int:
    """Prints the tables."""
    if not folder.is_dir():
        print(f"{folder}: not there; give a folder with trajectories")
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        import_into(f"{scratch}/run", [folder], "auto", progress_for(quiet=True))
        show("Imported trials", graphs(StoredLedger(f"{scratch}/run").trajectories()))
    trials = [trial.trajectory for found in pool().values() for trial in found]
    show("Storefront, turns merged by action and observation", graphs(trials))
    show("Storefront, turns merged by tools and the world's state", graphs(trials, "state"))
    return 0


if __name__ == "__main__":
    sys.exit(
        main(
            Path(sys.argv[1])
            if len(sys.argv) > 1
            else Path(__file__).parents[2] / "shared" / "data"
        )
    )
