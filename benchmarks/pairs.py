"""Pairs and step labels of the storefront: what the tests of a flow give, what bounds them, and
whether continuations confirm them.

Run: `python -m benchmarks.pairs [tasks]`
"""

import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Mapping
from io import StringIO

from benchmarks.critical_steps import EXPLORER
from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from synth.engine.progress import PlainProgress
from synth.flows.synthesize import synthesize
from synth.ledger.ledger import StoredLedger
from synth.pairs import (
    KtoReport,
    LabelSettings,
    PairReport,
    PairRow,
    PairSettings,
    StepReport,
    kto_labels,
    preference_pairs,
    step_labels,
)
from synth.schemas.evidence.pairs import Tier
from synth.schemas.flow import Flow
from synth.schemas.trajectory import Trajectory

TASKS = 120
LENGTH_AUC = 0.60


def played(tasks: int, folder: str) -> StoredLedger:
    """Four trials of each task, their critical steps, retries, injected failures and repairs."""
    os.environ["SYNTH_STATE_DIR"] = f"{folder}/state"
    flow = Flow.model_validate(
        {
            "name": "pairs",
            "seed": 1,
            "env": {"name": "storefront", "tasks": tasks},
            "models": {"explorer": EXPLORER},
            "stages": [
                {"rollout": {"trials": 4}},
                {"critical_step": {}},
                {"reflect_retry": {}},
                {"failure_injection": {"repairs": 1}},
                {"topology": {}},
            ],
        }
    )
    asyncio.run(synthesize(flow, f"{folder}/run", PlainProgress(StringIO())))
    return StoredLedger(f"{folder}/run")


def _lengths(report: PairReport) -> list[Figure]:
    found = []
    for name, balance in report.lengths.items():
        if balance.auc is not None:
            found.append(Figure(f"length-only AUC, {name}: before", balance.auc))
        if balance.auc_kept is not None:
            found.append(
                Figure(
                    f"length-only AUC, {name}: {balance.kept} of {balance.pairs} kept",
                    balance.auc_kept,
                    "",
                    _BOUND,
                )
            )
            found.append(Figure(f"chosen is the longer, {name}", balance.chosen_longer_kept or 0.0))
        else:
            found.append(
                Figure(f"pairs kept, {name} (of {balance.pairs}; too few for an AUC)", balance.kept)
            )
    return found


_BOUND = Target("at most", LENGTH_AUC)


def _styles(report: PairReport) -> list[Figure]:
    found = []
    for name, style in report.styles.items():
        if style.auc is not None and style.auc_with_values is not None:
            found.append(
                Figure(
                    f"style AUC, {name}, {style.pairs} pairs, with argument values",
                    style.auc_with_values,
                )
            )
            found.append(
                Figure(
                    f"style AUC, {name}, without "
                    f"({'confounded' if style.confounded else 'not confounded'})",
                    style.auc,
                )
            )
    return found


def _counted(title: str, counts: Mapping[str, int]) -> str:
    return f"{title}: " + (
        ", ".join(
            f"{count} {name}" for name, count in sorted(counts.items(), key=lambda found: -found[1])
        )
        or "none"
    )


def measure(tasks: int = TASKS) -> Report:
    """One run."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = played(tasks, folder)
        report, plain, kto, steps = PairReport(), PairReport(), KtoReport(), StepReport()
        began = time.perf_counter()
        rows = list(preference_pairs(ledger, PairSettings(include_scripted=True), report))
        seconds = time.perf_counter() - began
        by_default = sum(1 for _ in preference_pairs(ledger, PairSettings(), plain))
        labels = sum(1 for _ in kto_labels(ledger, LabelSettings(include_scripted=True), kto))
        sound = sum(_sound(ledger, row) for row in rows)
        wanted = LabelSettings(include_scripted=True, include_statistical=True)
        for _ in step_labels(ledger, wanted, steps):
            pass
    for line in (
        _counted("candidates", report.candidates),
        _counted("pairs left out", report.left_out),
        _counted(
            "policies (prefix, chosen, rejected)",
            {" | ".join(key): count for key, count in report.policies.items()},
        ),
        _counted("KTO left out", kto.left_out),
        _counted("negatives matched by", kto.matched),
        _counted(
            "step labels",
            {f"{tier.value} {label}": count for (tier, label), count in steps.labels.items()},
        ),
        _counted("steps left out", steps.left_out),
        *(
            f"style features, {name}: {', '.join(style.features)}"
            for name, style in report.styles.items()
            if style.features
        ),
    ):
        print(line)
    weights = kto.weights or (float("nan"), float("nan"))
    return Report(
        "Pairs and step labels, storefront",
        [
            Figure("pairs taken", len(rows)),
            Figure("pairs without include_scripted", by_default, "", Target("at most", 0)),
            Figure("pairs that hold when read anew", sound, "", Target("at least", len(rows))),
            *_lengths(report),
            *_styles(report),
            Figure("KTO labels", labels),
            Figure("desirable", kto.desirable),
            Figure("undesirable", kto.undesirable),
            Figure("suggested weight, desirable", weights[0]),
            Figure("suggested weight, undesirable", weights[1]),
            *(Figure(f"step labels {tier.value}", steps.tiers[tier]) for tier in Tier),
            Figure("seconds for the pairs, two readings", seconds, "s"),
            Figure(
                "peak memory of the process, flow included",
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "MiB",
            ),
        ],
        f"{tasks} tasks, 4 trials each by the scripted mixture of `benchmarks.critical_steps`; "
        "scripted rows taken in for the figures.",
    )


def _sound(ledger: StoredLedger, row: PairRow) -> bool:
    """Whether the pair holds when its trajectories are read anew: equal prompts, different acts,
    counts that the trajectories bear out.
    """
    pair = row.pair
    read = {
        one.trajectory_id: ledger.trajectory(one.trajectory_id)
        for one in (pair.prefix, pair.chosen, pair.rejected)
    }
    prompts = {
        json.dumps(_before(read[one.trajectory_id], one.turn))
        for one in (pair.prefix, pair.chosen, pair.rejected)
    }
    sides = [read[one.trajectory_id].turns[one.turn] for one in (pair.chosen, pair.rejected)]
    differ = (
        len(
            {
                json.dumps(
                    [[call.name, json.loads(call.arguments)] for call in side.tool_calls]
                    or side.content
                )
                for side in sides
            }
        )
        == 2
    )
    return (
        len(prompts) == 1
        and differ
        and pair.evidence.q_pos > pair.evidence.q_neg
        and read[pair.chosen.trajectory_id].reward == 1
    )


def _before(trajectory: Trajectory, turn: int) -> object:
    told: list[object] = [[seen.source, seen.content] for seen in trajectory.opening]
    for one in trajectory.turns[:turn]:
        told += [
            [one.content, one.thought, [[call.name, call.arguments] for call in one.tool_calls]]
        ]
        told += [[seen.source, seen.content, seen.call_id] for seen in one.observations]
    return [trajectory.system_prompt, trajectory.tools, told]


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(int(sys.argv[1]) if len(sys.argv) > 1 else TASKS), others))
