"""Selection against the storefront's own labels: does what topology prefers pass more often, is
what `select` takes justified more often,
and does the rule on lucky passes find the lucky ones.

Run: `python -m benchmarks.selection_truth`. The labels are looked at after everything was scored
and selected, and by nothing but this.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from benchmarks.by_task import gap, share
from benchmarks.storefront_pool import GUESSERS, TRIALS, Pool, Trial, pool
from synth.schemas.trajectory import Trajectory
from synth.selection.candidates import candidate, loss_characters
from synth.selection.choosing import Candidate, SftSelection, TaskQuota, chosen
from synth.success_evidence import HARD
from synth.text.provenance.effect import effectful_by_name
from synth.topology.graph import GraphTrial as Path
from synth.topology.graph import graph_of
from synth.topology.keys import trajectory_keys
from synth.topology.of_task import task_rows
from synth.topology.potential import potentials

Quality = Callable[[Trial], bool]
AMBIGUOUS: dict[str, Any] = {
    "mix": {"feasible": 0, "refused": 0, "ambiguous": 1, "conditional": 0, "stale": 0, "done": 0},
    "ambiguity": (2, 2),
}
"""Every task names one of its orders by words that fit two: who does not ask is right half of the
time.
"""


def pass_or_fail_unseen(
    found: Pool, *, shuffle: bool = False
) -> dict[str, tuple[list[Trial], list[Trial]]]:
    """Of each task what is taken and what it was taken from: the better half of four trials by the
    outcomes of the other four, both ways.

    No outcome of a trial enters its own score, nor that of a trial it is compared with. With
    `shuffle`, the outcomes that scores stand on
    are those of the task dealt anew: then nothing is known, and nothing may be gained.
    """
    taken: dict[str, tuple[list[Trial], list[Trial]]] = {}
    for task, trials in found.items():
        outcomes = [trial.solved for trial in trials]
        if shuffle:
            Random(task).shuffle(outcomes)
        keyed = [
            (
                one.trajectory.trajectory_id,
                tuple(key.node("exact") for key in trajectory_keys(one.trajectory)),
            )
            for one in trials
        ]
        paths = [
            Path(identity, solved, nodes)
            for (identity, nodes), solved in zip(keyed, outcomes, strict=True)
        ]
        best: list[Trial] = []
        for half in (range(TRIALS // 2), range(TRIALS // 2, TRIALS)):
            donors = [path for at, path in enumerate(paths) if at not in half]
            scores = {
                at: potentials(graph_of(task, [*donors, paths[at]]))[-1].mean() or 0.0
                for at in half
            }
            best += [
                trials[at]
                for at in sorted(
                    half, key=lambda at: (-scores[at], trials[at].trajectory.trajectory_id)
                )[: TRIALS // 4]
            ]
        taken[task] = (best, list(trials))
    return taken


def against_random(taken: Mapping[str, tuple[list[Trial], list[Trial]]], quality: Quality) -> str:
    """The share of the loss that has the quality: taken, a random part of as much loss, the
    difference.
    """
    parts = [(*_loss(one, quality), *_loss(other, quality)) for one, other in taken.values()]
    ours, theirs = share([part[:2] for part in parts]), share([part[2:] for part in parts])
    return f"{ours} | {theirs} | {gap(parts)}"


def _loss(trials: Sequence[Trial], quality: Quality) -> tuple[float, float]:
    sizes = [(loss_characters(trial.trajectory), quality(trial)) for trial in trials]
    return float(sum(size for size, holds in sizes if holds)), float(sum(size for size, _ in sizes))


def selectable(trials: Sequence[Trial]) -> list[Candidate]:
    """The successes of a task as the stage `select` sees them after `topology`."""
    measures: dict[str, dict[str, float]] = {}
    trajectories: list[Trajectory] = [trial.trajectory for trial in trials]
    for score in task_rows(trajectories[0].task_id, trajectories).scores:
        if score.value is not None and score.turn is None:
            measures.setdefault(score.subject_id, {})[score.metric] = score.value
    solved = [trial.trajectory for trial in trials if trial.solved]
    return [
        candidate(trajectory, measures[trajectory.trajectory_id], effectful_by_name)
        for trajectory in solved
    ]


def selected(found: Pool, candidates: Mapping[str, Sequence[Candidate]]) -> dict[str, list[Trial]]:
    """What the stage takes with its own settings, by task."""
    standings = {
        task: (len(trials), sum(trial.solved for trial in trials)) for task, trials in found.items()
    }
    verdicts = chosen(
        [one for ones in candidates.values() for one in ones], standings, SftSelection()
    )
    return {
        task: [
            trial for trial in trials if verdicts.get(trial.trajectory.trajectory_id, (False,))[0]
        ]
        for task, trials in found.items()
    }


def compositions(found: Pool) -> None:
    """Prints how much of the loss is lucky: all successes, those of the same tasks, and what is
    selected.
    """
    candidates = {task: selectable(trials) for task, trials in found.items()}
    proven = {
        task: [one for one in ones if "provenance" in one.evidence or "process" in one.evidence]
        for task, ones in candidates.items()
    }
    successes = {
        task: [trial for trial in trials if trial.solved] for task, trials in found.items()
    }
    print(
        "| rows | random successes | random successes of the same tasks | selected | selected "
        "less same tasks |\n|---|---|---|---|---|"
    )
    for name, ones in (
        ("`select`", candidates),
        ("`select` of what provenance does not speak against", proven),
    ):
        taken = selected(found, ones)
        parts = []
        for task, rows in taken.items():
            lucky, size = _loss(rows, lambda trial: trial.lucky)
            of_all, all_of_it = _loss(successes[task], lambda trial: trial.lucky)
            matched = size * of_all / all_of_it if all_of_it else 0.0
            parts.append((lucky, size, matched, size))
        everything = share(
            [_loss(trials, lambda trial: trial.lucky) for trials in successes.values()]
        )
        cells = [
            everything,
            share([part[2:] for part in parts]),
            share([part[:2] for part in parts]),
            gap(parts),
        ]
        print(
            f"| {name}: {sum(map(len, taken.values()))} of {sum(map(len, successes.values()))} | "
            f"{' | '.join(map(str, cells))} |"
        )


def detectors(found: Pool) -> None:
    """Prints precision and recall of what the rule calls unproven, and of what each part of it
    does.
    """
    flags: dict[str, Callable[[Candidate], bool]] = {
        "no second evidence (the rule)": lambda one: not one.evidence,
        "arguments or choices not justified, or none to judge": lambda one: (
            "provenance" not in one.evidence
        ),
        "process constraints not kept": lambda one: not processes[one.trajectory_id],
    }
    processes: dict[str, bool] = {}
    print("| of | successes | lucky | detector | precision | recall |\n|---|---|---|---|---|---|")
    for name, tasks in (("all tasks", found), ("tasks solved at most once in four", _hard(found))):
        rows = {
            task: [(one, trial) for one, trial in _beside(trials)] for task, trials in tasks.items()
        }
        for pairs in rows.values():
            for _, trial in pairs:
                result = trial.trajectory.check_result
                processes[trial.trajectory.trajectory_id] = result is not None and all(
                    p.passed for p in result.parts if p.name == "process"
                )
        everything = [pair for pairs in rows.values() for pair in pairs]
        lucky = sum(trial.lucky for _, trial in everything)
        for what, flagged in flags.items():
            counts = [
                (
                    sum(flagged(one) and trial.lucky for one, trial in pairs),
                    sum(flagged(one) for one, _ in pairs),
                    sum(trial.lucky for _, trial in pairs),
                )
                for pairs in rows.values()
            ]
            precision, recall = (
                share([(hit, found) for hit, found, _ in counts]),
                share([(hit, true) for hit, _, true in counts]),
            )
            print(
                f"| {name} | {len(everything)} | {lucky / max(len(everything), 1):.3f} | {what} | "
                f"{precision} | {recall} |"
            )


def _hard(found: Pool) -> Pool:
    return {
        task: trials
        for task, trials in found.items()
        if 0 < sum(trial.solved for trial in trials) <= HARD * len(trials)
    }


def _beside(trials: Sequence[Trial]) -> list[tuple[Candidate, Trial]]:
    return list(zip(selectable(trials), [trial for trial in trials if trial.solved], strict=True))


def main() -> int:
    """Prints the tables."""
    pools = {
        "mixed misconceptions, whole check": pool(),
        "guessers, ambiguous tasks, whole check": pool(profiles=GUESSERS, **AMBIGUOUS),
        "guessers, ambiguous tasks, outcome only": pool(
            profiles=GUESSERS, outcome_only=True, **AMBIGUOUS
        ),
    }
    print("## Better half by the other trials' outcomes, against a random half of as much loss\n")
    print("| pool | tasks | quality | taken | random | difference |\n|---|---|---|---|---|---|")
    for name, found in pools.items():
        noise = against_random(pass_or_fail_unseen(found, shuffle=True), lambda trial: trial.solved)
        print(f"| {name} | {len(found)} | passes, known outcomes shuffled | {noise} |", flush=True)
        taken = pass_or_fail_unseen(found)
        for quality, holds in (
            ("passes", lambda t: t.solved),
            ("passes, justified", lambda t: t.solved and not t.truth.guessed),
        ):
            print(
                f"| {name} | {len(found)} | {quality} | {against_random(taken, holds)} |",
                flush=True,
            )
    for name, found in list(pools.items()):
        easy = sum(
            TaskQuota(len(trials), sum(t.solved for t in trials), 1).easy
            for trials in found.values()
        )
        print(f"\n## Lucky share of the loss: {name}\n\n{len(found)} tasks, {easy} of them easy\n")
        compositions(found)
        print()
        detectors(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
