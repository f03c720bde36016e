"""Real trials: how well what selection looks at ranks passes that missed a gold action, and
failures that did them all.

Run: `python -m benchmarks.proxy_labels [FOLDER]` (by default ../shared/data, whose gold/ holds the
proxies). The proxies are computed from
the reward's fields, not human: a missed gold action is often a legitimate other way, so rankings
are reported, and no accuracy.
"""

import gzip
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.by_task import average_precision
from synth.engine.progress import progress_for
from synth.importers.commit import import_into
from synth.ledger.ledger import StoredLedger
from synth.schemas.trajectory import Trajectory
from synth.text.provenance import provenance
from synth.text.provenance.effect import effectful_by_name
from synth.topology.graph import is_donor, population, task_graph
from synth.topology.keys import trajectory_keys
from synth.topology.potential import potentials
from synth.topology.trajectory_measures import strategy
from synth.topology.waste import waste_share, wasted

PROXIES = {"lucky_or_alternate_pass_proxy": 1.0, "side_effect_proxy": 0.0}
"""Proxy -> the reward of the trials that it divides."""
Score = Callable[[Trajectory], float | None]


def labelled(
    folder: Path, trajectories: Sequence[Trajectory]
) -> list[tuple[Trajectory, str | None]]:
    """Trials of the sources that have proxies, each with its own; raises `ValueError` where a
    reward is not the one that gold states.
    """
    proxies = {
        row["sim_id"]: row["proxy"]
        for row in map(
            json.loads, (folder / "gold" / "proxy_labels.jsonl").read_text().splitlines()
        )
    }
    rows: dict[str, list[Mapping[str, Any]]] = {}
    with gzip.open(folder / "gold" / "outcome.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            rows.setdefault(row["source"], []).append(row)
    sources = {
        row["source"] for found in rows.values() for row in found if row.get("sim_id") in proxies
    }
    found = []
    for trajectory in trajectories:
        _, _, where, source = (trajectory.source or ":::").split(":", 3)
        if source not in sources or trajectory.reward is None:
            continue
        last = where.rpartition("/")[2]
        row = rows[source][
            int(last.removeprefix("line")) - 1 if last.startswith("line") else int(last)
        ]
        if row["reward"] != trajectory.reward:
            raise ValueError(
                f"{trajectory.source}: reward {trajectory.reward}, gold says {row['reward']}"
            )
        found.append((trajectory, proxies.get(row["sim_id"])))
    return found


def mean_potentials(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """By the other trials of the same task and policy, where there are any that came by the same
    turns.
    """
    groups: dict[tuple[str, str], list[Trajectory]] = {}
    for trajectory in trajectories:
        if is_donor(trajectory):
            groups.setdefault((trajectory.task_id, population(trajectory)), []).append(trajectory)
    found = {}
    for (task, _), trials in groups.items():
        for potential in potentials(
            task_graph(task, [(trial, trajectory_keys(trial)) for trial in trials])
        ):
            if (mean := potential.mean()) is not None:
                found[potential.trajectory_id] = mean
    return found


def scores(trajectories: Sequence[Trajectory]) -> dict[str, Score]:
    """What is ranked by, the suspicious first; None where a score is not defined."""
    means = mean_potentials(trajectories)

    def unjustified(trajectory: Trajectory) -> float:
        counts = provenance(trajectory).counts
        return counts["unjustified"] + counts["unjustified_choice"]

    def potential(trajectory: Trajectory) -> float | None:
        mean = means.get(trajectory.trajectory_id)
        return None if mean is None else -mean

    return {
        "unjustified arguments and choices": unjustified,
        "waste": lambda one: waste_share(wasted(one, trajectory_keys(one)), len(one.turns)),
        "effectful calls, few first": lambda one: -len(strategy(one, effectful_by_name)[0]),
        "effectful calls, many first": lambda one: len(strategy(one, effectful_by_name)[0]),
        "mean potential, low first": potential,
    }


def main(folder: Path) -> int:
    """Prints the table."""
    if not (folder / "gold").is_dir():
        print(f"{folder}/gold: not there; give the folder of trajectories that has it")
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        import_into(f"{scratch}/run", [folder], "auto", progress_for(quiet=True))
        trajectories = list(StoredLedger(f"{scratch}/run").trajectories())
    rows = labelled(folder, trajectories)
    by_score = scores(trajectories)
    print("| proxy | ranked by | trials | base rate | average precision |\n|---|---|---|---|---|")
    for proxy, reward in PROXIES.items():
        of = [
            (trajectory, label == proxy)
            for trajectory, label in rows
            if trajectory.reward == reward
        ]
        for name, score in by_score.items():
            scored = [
                (value, label)
                for trajectory, label in of
                if (value := score(trajectory)) is not None
            ]
            base = sum(label for _, label in scored) / max(len(scored), 1)
            print(
                f"| {proxy} | {name} | {len(scored)} | {base:.3f} | "
                f"{average_precision(scored):.3f} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(
        main(
            Path(sys.argv[1])
            if len(sys.argv) > 1
            else Path(__file__).parents[2] / "shared" / "data"
        )
    )
