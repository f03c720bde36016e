"""Reverse task synthesis on the storefront: what a stage of explorations gives, and what its tests
cost.

Run: `python -m benchmarks.reverse_tasks`
"""

import asyncio
import sys
import time
from collections.abc import Mapping
from io import StringIO
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from synth.engine.progress import PlainProgress
from synth.envs.storefront.tools.schemas import WRITES
from synth.flows.synthesize import synthesize
from synth.schemas.flow import Flow

EXPLORATIONS = 400
SIGNATURES, SEVERAL_PERCENT, KILLED_PERCENT = 25, 40, 95


def explored(explorations: int) -> tuple[Mapping[str, Any], float]:
    """The stage's report, and how long the whole flow took."""
    flow = Flow.model_validate(
        {
            "name": "reverse",
            "seed": 7,
            "env": {"name": "storefront", "tasks": 0},
            "stages": [{"reverse_task": {"explorations": explorations}}],
        }
    )
    with TemporaryDirectory() as folder:
        began = time.perf_counter()
        _, reports = asyncio.run(synthesize(flow, folder + "/run", PlainProgress(StringIO()), None))
        return reports["reverse_task"], time.perf_counter() - began


def measure(explorations: int = EXPLORATIONS) -> Report:
    """One process; the targets are those of 400 explorations."""
    report, took_s = explored(explorations)
    found, mutants = report["details"], report["details"]["mutants"]
    tasks = found["tasks"]
    writing = found["coverage"]["writing_tools"]
    missing = sorted(tool for tool in WRITES if not writing.get(tool, {}).get("tasks"))
    whole = explorations >= EXPLORATIONS
    rejected = (
        ", ".join(f"{count} {reason}" for reason, count in report["rejected"].items()) or "none"
    )
    return Report(
        f"Reverse tasks, storefront, {explorations:,} explorations",
        (
            Figure("windows attempted", report["attempted"]),
            Figure("tasks verified by T1 to T8", tasks, "", Target("at least", 1)),
            Figure(
                "distinct operation signatures",
                found["signatures"],
                "",
                Target("at least", SIGNATURES) if whole else None,
            ),
            Figure("distinct operations and goals, entities masked", found["kinds"]),
            Figure(
                "tasks of several operations",
                _percent(found["several_operations"], tasks),
                "%",
                Target("at least", SEVERAL_PERCENT),
            ),
            Figure(
                "tasks with a refusal",
                found["refusals"],
                "",
                Target("at least", 1) if whole else None,
            ),
            Figure(
                "tasks that ask for an answer, with the commonest answer judged over 100 seeds "
                "(T7)",
                found["questions"],
            ),
            Figure(
                "writing tools that no task uses",
                len(missing),
                "",
                Target("at most", 0) if whole else None,
            ),
            Figure("mutants tried", mutants["made"]),
            Figure(
                "mutants killed",
                _percent(mutants["killed"], mutants["made"]),
                "%",
                Target("at least", KILLED_PERCENT),
            ),
            Figure(
                "explorations that the world broke",
                sum(found["faults"].values()),
                "",
                Target("at most", 0),
            ),
            Figure("time per exploration, with all tests", 1000 * took_s / explorations, "ms"),
            Figure("time in all", took_s, "s"),
        ),
        f"Rejected: {rejected}. Writing tools without a task: {', '.join(missing) or 'none'}.",
    )


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
