"""Critical steps on the storefront: false discoveries as the A/A control expects them, and as 64
further continuations a side find them.

Run: `python -m benchmarks.critical_steps [tasks]`
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.truth.monitor import truth_of
from benchmarks.within_tasks import newcombe
from synth.engine.progress import PlainProgress
from synth.envs.storefront.env import SPEC
from synth.flows.environments import open_env
from synth.flows.roles import role
from synth.flows.synthesize import synthesize
from synth.ledger.ledger import StoredLedger
from synth.ledger.storage.journal import Journal
from synth.ledger.typed import labels
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import run_slots
from synth.rollout.start import BranchPoint, ForcedAct, recorded_act
from synth.schemas.environment import AgentTurn
from synth.schemas.evidence.labels import StepLabel, given
from synth.schemas.flow import Flow
from synth.schemas.outcome import Outcome
from synth.schemas.policy import Act, PolicySpec
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.stats.intervals import clopper_pearson

TASKS, TRIALS = 200, 4
FURTHER = 64
FIRST_DRAW = 1001
"""Far from those of the tests: no continuation that led to a label is counted again."""
DECISIVE = 0.2
LAPSES, RANDOM = 0.4, 0.1
"""Shares of turns that are taken under one of the world's misconceptions, drawn anew each turn, and
at random.
"""
MOST_FALSE = 0.2
RULE_FALSE_ACCEPT = 0.0125

EXPLORER: Mapping[str, Any] = {
    "policy": "mixture",
    "of": [
        {"policy": "expert", "weight": 1 - LAPSES - RANDOM},
        *(
            {"policy": "expert", "profiles": name, "weight": LAPSES / len(SPEC.profiles)}
            for name in SPEC.profiles
        ),
        {"policy": "random", "weight": RANDOM},
    ],
}


@dataclass(frozen=True, slots=True)
class Label:
    """A label as the ledger has it."""

    trajectory_id: str
    turn: int
    status: str
    stopped_at: int
    alternative: AgentTurn


@dataclass(frozen=True, slots=True)
class Truth:
    """What further continuations came to, of `FURTHER` a side."""

    good: int
    bad: int

    @property
    def decisive(self) -> bool:
        """Whether the difference is more than `DECISIVE`, and its 95 % interval lies above 0."""
        low, _ = newcombe(self.good, FURTHER, self.bad, FURTHER)
        return low > 0 and (self.good - self.bad) / FURTHER > DECISIVE

    @property
    def above_zero(self) -> bool:
        """Whether the 95 % interval of the difference lies above 0."""
        return newcombe(self.good, FURTHER, self.bad, FURTHER)[0] > 0


async def measured(tasks: int) -> Report:
    """Labels, their control, and the truth about all accepted ones and as many rejected ones."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYNTH_STATE_DIR"] = f"{folder}/state"
        flow = Flow.model_validate(
            {
                "name": "steps",
                "seed": 1,
                "env": {"name": "storefront", "tasks": tasks},
                "models": {"explorer": EXPLORER},
                "stages": [
                    {"rollout": {"trials": TRIALS}},
                    {"critical_step": {"control_share": 0.3}},
                ],
            }
        )
        run, reports = await synthesize(flow, f"{folder}/run", PlainProgress(StringIO()))
        found, labels = reports["critical_step"], _labels(run.ledger)
        accepted = [label for label in labels if label.status in ("confirmed", "weak")]
        others = [label for label in labels if label.status == "rejected"]
        rejected = Random(1).sample(others, min(len(accepted), len(others)))
        chosen = [*accepted, *rejected]
        parents = {
            t.trajectory_id: t
            for t in run.ledger.trajectories({label.trajectory_id for label in chosen})
        }
        known = run.ledger.tasks({parent.task_id for parent in parents.values()})
        truths = await _further(
            chosen, parents, known, role("explorer", EXPLORER).policy, flow.seed, Path(folder)
        )
        wrong = await _wrong(chosen, parents, known)
    of_accepted, of_rejected = truths[: len(accepted)], truths[len(accepted) :]
    return _report(
        found, labels, of_accepted, of_rejected, wrong[: len(accepted)], wrong[len(accepted) :]
    )


def _labels(ledger: StoredLedger) -> list[Label]:
    return [
        Label(
            row.subject_id,
            row.turn or 0,
            given(row.about.status),
            given(row.about.stopped_at),
            given(row.about.alternative),
        )
        for row in labels(ledger, StepLabel)
        if not row.about.control
    ]


async def _further(
    labels: Sequence[Label],
    parents: Mapping[str, Trajectory],
    tasks: Mapping[str, Task],
    policy: PolicySpec,
    seed: int,
    folder: Path,
) -> list[Truth]:
    """Successes of further continuations of both acts of each label; faults are none, and there
    should be none.
    """
    works: dict[str, EpisodeSpec] = {}
    for number, label in enumerate(labels):
        parent = parents[label.trajectory_id]
        acts = {"good": Act(turn=label.alternative), "bad": recorded_act(parent.turns[label.turn])}
        for place, (side, act) in enumerate(acts.items()):
            for draw in range(FURTHER):
                slot = f"{number} {side} {draw}"
                works[slot] = EpisodeSpec(
                    slot_id=slot,
                    task=tasks[parent.task_id],
                    trial=parent.trial,
                    seed=seed,
                    synthesizer="truth",
                    policy=policy,
                    limits=Limits(),
                    start=BranchPoint(parent, label.turn, (ForcedAct(act=act, mask="tested_act"),)),
                    draw=FIRST_DRAW + place * FURTHER + draw,
                )
    solved: dict[str, bool] = {}

    def finished(attempts: Sequence[Trajectory]) -> None:
        if attempts[-1].outcome is Outcome.INVALID:
            raise RuntimeError(f"a continuation ended in a fault: {attempts[-1].fault_detail}")
        solved[attempts[-1].slot_id] = attempts[-1].outcome is Outcome.SUCCESS

    slots = list(works)
    for first in range(0, len(slots), 1000):
        journal = Journal(folder / f"truth-{first}.jsonl")
        try:
            part = [works[slot] for slot in slots[first : first + 1000]]
            await run_slots(
                part,
                lambda work: open_env(work.task.env, work.task.env_config),
                None,
                journal,
                {},
                live_episodes=64,
                finished=finished,
            )
        finally:
            journal.close(discard=True)
    counted = {
        (n, side): sum(solved[f"{n} {side} {d}"] for d in range(FURTHER))
        for n in range(len(labels))
        for side in ("good", "bad")
    }
    return [
        Truth(counted[(number, "good")], counted[(number, "bad")]) for number in range(len(labels))
    ]


async def _wrong(
    labels: Sequence[Label], parents: Mapping[str, Trajectory], tasks: Mapping[str, Task]
) -> list[bool]:
    """Whether the monitor calls the own act an unjustified write or an ungrounded denial."""
    turns: dict[str, set[int]] = {}
    for identity in {label.trajectory_id for label in labels}:
        truth = await truth_of(tasks[parents[identity].task_id], parents[identity])
        turns[identity] = {write.turn for write in truth.writes if write.label != "justified"}
        turns[identity] |= {denial.turn for denial in truth.denials if not denial.grounded}
    return [label.turn in turns[label.trajectory_id] for label in labels]


def _report(
    found: Mapping[str, Any],
    labels: Sequence[Label],
    accepted: Sequence[Truth],
    rejected: Sequence[Truth],
    wrong_accepted: Sequence[bool],
    wrong_rejected: Sequence[bool],
) -> Report:
    control = found["control"]
    low, high = clopper_pearson(control["accepted"], control["tests"])
    false = sum(not truth.decisive for truth in accepted)
    false_low, false_high = clopper_pearson(false, len(accepted))
    return Report(
        "Critical steps, storefront",
        [
            Figure("tests", len(labels)),
            Figure("accepted", len(accepted)),
            Figure("continuations per test", found["continuations_per_test"] or 0.0),
            Figure("A/A tests", control["tests"]),
            Figure("A/A accepted", control["accepted"]),
            Figure(
                "A/A accept rate, lower end of its 95 % interval",
                low,
                "",
                Target("at most", RULE_FALSE_ACCEPT),
            ),
            Figure("A/A accept rate, upper end", high),
            Figure(
                "expected share of false discoveries, at most (.012054 x tests / accepted)",
                found["expected_false_share"] or 0.0,
            ),
            Figure(
                "measured share of false discoveries",
                false / max(len(accepted), 1),
                "",
                Target("at most", MOST_FALSE),
            ),
            Figure("its 95 % interval, lower end", false_low),
            Figure("its 95 % interval, upper end", false_high),
            Figure(
                "accepted whose difference is not above 0",
                sum(not truth.above_zero for truth in accepted),
            ),
            Figure(
                "decisive among rejected, share of a sample",
                _share([truth.decisive for truth in rejected]),
            ),
            Figure("own act unjustified by the monitor, among accepted", _share(wrong_accepted)),
            Figure("own act unjustified by the monitor, among rejected", _share(wrong_rejected)),
        ],
        f"{TRIALS} trials of each task by the expert with {100 * LAPSES:g} % of turns under a "
        "misconception drawn anew and "
        f"{100 * RANDOM:g} % at random; every failed trial tested. Decisive: a difference of more "
        f"than {DECISIVE:g} over {FURTHER} "
        "further continuations a side, its 95 % interval above 0; of all accepted steps, and of "
        f"{len(rejected)} rejected ones.",
    )


def _share(found: Sequence[bool]) -> float:
    return sum(found) / max(len(found), 1)


def measure(tasks: int = TASKS) -> Report:
    """One run."""
    return asyncio.run(measured(tasks))


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(int(sys.argv[1]) if len(sys.argv) > 1 else TASKS), others))
