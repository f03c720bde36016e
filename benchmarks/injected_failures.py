"""Injected failures on the storefront: how many labels are confirmed, over which modes, how near
the target mix, at which cost.

Run: `python -m benchmarks.injected_failures [tasks]`. `python -m
tests.synthesizers.failures.verify_labels RUN` verifies a run's labels.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from io import StringIO
from typing import Any

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from synth.engine.progress import PlainProgress
from synth.flows.synthesize import synthesize
from synth.schemas.flow import Flow

TASKS = 240
TRIALS = 4
PER_TASK = 8
EXPLORER = {
    "policy": "mixture",
    "of": [
        {"policy": "expert", "profiles": "mixed", "weight": 0.98},
        {"policy": "random", "weight": 0.02},
    ],
}
"""Errs by its misconception, and in one turn of fifty at random."""
LEAST_LABELS = 150
LEAST_MODES = 8


async def measured(tasks: int, stage: Mapping[str, Any]) -> tuple[Mapping[str, Any], float]:
    """The stage's report on fresh trials, and the seconds that the whole flow took."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYNTH_STATE_DIR"] = f"{folder}/state"
        flow = Flow.model_validate(
            {
                "name": "failures",
                "seed": 7,
                "env": {"name": "storefront", "tasks": tasks},
                "models": {"explorer": EXPLORER},
                "stages": [
                    {"rollout": {"trials": TRIALS}},
                    {"failure_injection": {"per_task": PER_TASK, **stage}},
                ],
            }
        )
        began = time.monotonic()
        _, reports = await synthesize(flow, f"{folder}/run", PlainProgress(StringIO()))
        return reports["failure_injection"], time.monotonic() - began


def figures(report: Mapping[str, Any], took_s: float) -> list[Figure]:
    """Of the injections by rules."""
    modes = report["modes"]
    target, found = dict(report["target"]), sum(modes.values())
    distance = (
        sum(
            abs(weight / sum(target.values()) - modes.get(mode, 0) / found)
            for mode, weight in target.items()
        )
        / 2
    )
    rejected = report["rejected"]
    return [
        Figure("attempts", report["attempted"]),
        Figure("confirmed labels", report["verified"], "", Target("at least", LEAST_LABELS)),
        Figure("modes with confirmed labels", len(modes), "", Target("at least", LEAST_MODES)),
        Figure("failed once, not confirmed (weak)", rejected.get("weak", 0)),
        Figure("recovered", rejected.get("recovered", 0)),
        Figure(
            "no effect, harmless or truncated",
            sum(rejected.get(reason, 0) for reason in ("no_effect", "harmless", "truncated")),
        ),
        Figure("distance from the target mix (0 to 1)", distance),
        Figure(
            "episodes per confirmed label", report["cost"]["episodes"] / max(1, report["verified"])
        ),
        Figure("attempts per second", report["attempted"] / took_s),
    ]


def measure(tasks: int = TASKS) -> Report:
    """Injections by rules, tested by live continuations on both sides; repairs of failed trials
    beside them.
    """
    by_rule, took_s = asyncio.run(measured(tasks, {"strategies": {"rule": 1}, "round": 160}))
    for line in by_rule["also"]:
        print(line, file=sys.stderr, flush=True)
    repairs, _ = asyncio.run(measured(tasks, {"per_task": 0, "repairs": 1}))
    found = figures(by_rule, took_s)
    found += [
        Figure("repairs tried", repairs["attempted"]),
        Figure("repairs confirmed", repairs["verified"]),
    ]
    each = ", ".join(f"{mode} {count}" for mode, count in sorted(by_rule["modes"].items()))
    how = (
        f"{tasks} tasks of the storefront, {TRIALS} trials each, {PER_TASK} attempts per "
        f"task. Confirmed: {each}."
    )
    return Report("Injected failures", found, how)


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(int(sys.argv[1]) if len(sys.argv) > 1 else TASKS), others))
