"""Calibration of difficulty: the pass rate that a flow asks for against the one that it gets, on
tasks that were not played before.

Run: `python -m benchmarks.calibrated_rates [runs]`
"""

import asyncio
import math
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from statistics import mean
from typing import Any

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from synth.engine.progress import PlainProgress
from synth.flows.synthesize import synthesize
from synth.schemas.flow import Flow

POLICIES: Mapping[str, Mapping[str, Any]] = {
    "misconceptions": {"policy": "expert", "profiles": "mixed"},
    "slips": {
        "policy": "mixture",
        "of": [{"policy": "expert", "weight": 0.8}, {"policy": "random", "weight": 0.2}],
    },
}
TARGETS = (0.3, 0.5, 0.7)
RUNS = 10
TASKS = 200
TRIALS = 8
CLOSE = 0.05


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: what the calibration expected, and what the rollout of fresh tasks came to."""

    level: float
    interval: tuple[float, float]
    reached: bool
    rate: float


async def measured(policy: str, target: float, seed: int) -> Measured:
    """A flow that calibrates and rolls out, in a directory of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYNTH_STATE_DIR"] = f"{folder}/state"
        flow = Flow.model_validate(
            {
                "name": "calibrated",
                "seed": seed,
                "env": {
                    "name": "storefront",
                    "tasks": TASKS,
                    "difficulty": {"target_pass_rate": target},
                },
                "models": {"explorer": POLICIES[policy]},
                "stages": [{"rollout": {"trials": TRIALS}}],
            }
        )
        _, reports = await synthesize(flow, f"{folder}/run", PlainProgress(StringIO()))
    found, outcomes = reports["calibrate"], reports["rollout"]["outcomes"]
    low, high = found["interval"]
    return Measured(
        found["level"],
        (low, high),
        found["reached"],
        outcomes.get("success", 0) / sum(outcomes.values()),
    )


def figures(policy: str, target: float, runs: list[Measured]) -> list[Figure]:
    """Over the runs: mean rate with its 95 % interval, root mean squared error, how many are close,
    how many lie in their interval.
    """
    rates = [run.rate for run in runs]
    spread = math.sqrt(sum((rate - mean(rates)) ** 2 for rate in rates) / (len(rates) - 1))
    error = math.sqrt(mean((rate - target) ** 2 for rate in rates))
    name = f"{policy}, {target:g}"
    return [
        Figure(
            f"{name}: distance of the mean rate from the target",
            abs(mean(rates) - target),
            "",
            Target("at most", CLOSE),
        ),
        Figure(f"{name}: mean rate", mean(rates)),
        Figure(f"{name}: its 95 % interval, plus or minus", 1.96 * spread / math.sqrt(len(rates))),
        Figure(f"{name}: error of one run, root mean square", error),
        Figure(
            f"{name}: runs within {CLOSE:g}",
            100 * mean(abs(rate - target) <= CLOSE for rate in rates),
            "%",
        ),
        Figure(
            f"{name}: runs in their own interval",
            100 * mean(r.interval[0] <= r.rate <= r.interval[1] for r in runs),
            "%",
        ),
        Figure(f"{name}: mean level", mean(run.level for run in runs)),
        Figure(f"{name}: runs that no level reached", sum(not run.reached for run in runs)),
    ]


def measure(count: int = RUNS) -> Report:
    """Every policy and target under `count` seeds."""
    found: list[Figure] = []
    for policy in POLICIES:
        for target in TARGETS:
            runs = [asyncio.run(measured(policy, target, seed)) for seed in range(1, count + 1)]
            print(
                policy,
                target,
                [(run.level, round(run.rate, 3)) for run in runs],
                file=sys.stderr,
                flush=True,
            )
            found += figures(policy, target, runs)
    return Report(
        "Calibration of difficulty",
        found,
        f"{count} runs each: 200 episodes to calibrate, then {TASKS} other tasks, {TRIALS} trials "
        "each. Policies: the expert with mixed "
        "misconceptions, and the expert with one turn in five at random.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS), others))
