"""Reflect-then-retry at equal cost on storefront: what guidance, pivot and branching are worth, for
a blind and a gold-informed reflector.

Run: `python -m benchmarks.equal_budget [tasks]`
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from benchmarks.figures import Figure, Report, shown
from benchmarks.machine import CpuOfOthers
from synth.engine.progress import PlainProgress
from synth.flows.synthesize import synthesize
from synth.schemas.flow import Flow
from synth.schemas.text.printing import in_cell
from synth.synthesizers.reflection.equal_budget import ARMS
from synth.synthesizers.reflection.report import EFFECTS, ROWS, TASKS, effect_in_words

POLICY: Mapping[str, Any] = {
    "policy": "mixture",
    "of": [
        {"policy": "expert", "profiles": "mixed", "weight": 0.9},
        {"policy": "random", "weight": 0.1},
    ],
}
"""Each trial holds misconceptions, and does something at random in one turn of ten."""
REFLECTORS = ("rules_blind", "rules")
TASKS_PLAYED = 400
TRIALS = 2
SEED = 20_271
NO_CLAIM = "gold-informed, supports no claim"


def compared(reflector: str, tasks: int) -> Mapping[str, Any]:
    """The comparison of one flow, in a directory of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYNTH_STATE_DIR"] = f"{folder}/state"
        flow = Flow.model_validate(
            {
                "name": "equal-budget",
                "seed": SEED,
                "env": {"name": "storefront", "tasks": tasks},
                "models": {"explorer": POLICY},
                "stages": [
                    {"rollout": {"trials": TRIALS}},
                    {"reflect_retry": {"reflector": reflector, "equal_budget": True}},
                ],
            }
        )
        _, reports = asyncio.run(synthesize(flow, f"{folder}/run", PlainProgress(StringIO())))
    found: Mapping[str, Any] = reports["reflect_retry"]["equal_budget"]
    return found


def equal_budget_table(found: Sequence[Mapping[str, Any]]) -> str:
    """Arms and effects, for each comparison a column."""
    names = [
        f"{each['reflector']}{f' ({NO_CLAIM})' if each['gold_informed'] else ''}" for each in found
    ]
    lines = ["| | " + " | ".join(map(in_cell, names)) + " |", "|---|" + "---|" * len(names)]
    lines.append(
        _row("failed trials (tasks)", [f"{each['trials']:,} ({each['tasks']:,})" for each in found])
    )
    for arm, title in ARMS.items():
        lines.append(
            _row(
                f"{title}: rows / 1M (tasks newly solved)",
                [_arm(each["arms"][arm]) for each in found],
            )
        )
    for name in EFFECTS:
        for endpoint in (ROWS, TASKS):
            short = "rows / 1M" if endpoint == ROWS else "tasks"
            lines.append(
                _row(
                    f"{name}, {short}",
                    [effect_in_words(each["effects"][f"{name}: {endpoint}"]) for each in found],
                )
            )
    return "\n".join(lines)


def _arm(arm: Mapping[str, Any]) -> str:
    over = (
        f", {100 * arm['overrun'] / arm['price']:.0f} % overrun"
        if arm["overrun"] and arm["price"]
        else ""
    )
    return (
        f"{arm[ROWS]:.1f} ({arm[TASKS]:.0f}); {arm['kept']:,} of {arm['episodes']:,} episodes{over}"
    )


def _row(name: str, cells: Sequence[str]) -> str:
    return f"| {in_cell(name)} | " + " | ".join(map(in_cell, cells)) + " |"


def measure(tasks: int = TASKS_PLAYED) -> Report:
    """Both reflectors on the same failed trials; the table of arms and effects is printed as
    well.
    """
    found = [compared(reflector, tasks) for reflector in REFLECTORS]
    print(equal_budget_table(found), flush=True)
    figures = []
    for each in found:
        name = (
            f"{each['reflector']} (supports no claim)"
            if each["gold_informed"]
            else each["reflector"]
        )
        for arm, title in ARMS.items():
            figures.append(Figure(f"{name}, {title}: {ROWS}", each["arms"][arm][ROWS]))
            figures.append(Figure(f"{name}, {title}: {TASKS}", each["arms"][arm][TASKS]))
    estimated = sum(arm["estimated"] for each in found for arm in each["arms"].values())
    return Report(
        "Reflect-then-retry at equal cost",
        figures,
        f"storefront, {tasks} tasks x {TRIALS} trials (seed {SEED}), expert with mixed "
        "misconceptions and one turn in ten at random; "
        f"{found[0]['trials']} failed trials of {found[0]['tasks']} tasks. Scripts use no tokens: "
        f"all {estimated:,} turns and reflections "
        "are priced by an estimate of 4 characters a token, the first prompt of an episode in no "
        "cache, each later one cached as far as "
        "the one before it reached; prices 1 : 0.1 : 4.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(int(sys.argv[1]) if len(sys.argv) > 1 else TASKS_PLAYED), others))
