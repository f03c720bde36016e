"""The methods in several worlds side by side: rollouts, reverse tasks, retries, injections,
critical steps, topology, filters, by a planner with noise, with n and exact 95 % intervals.

Run: `python -m benchmarks.world_methods [--tasks N] [--world NAME=FLOW.yaml ...]`

Without `--world`: storefront and sql. A file gives its `env`, `models` and `seed`, and of the
stages below those that it names; it may lie anywhere.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import yaml

from benchmarks.world_figures import Found, figures
from synth import open_ledger
from synth.engine.progress import PlainProgress
from synth.flows.synthesize import synthesize
from synth.schemas.flow import Flow
from synth.schemas.text.printing import in_cell

TASKS, SEED = 60, 7
NOISY = {
    "policy": "mixture",
    "of": [
        {"policy": "expert", "profiles": "mixed", "weight": 0.9},
        {"policy": "random", "weight": 0.1},
    ],
}
"""The world's planner with a misconception for each trial, and one turn in ten at random."""
STAGES: Sequence[Mapping[str, Any]] = (
    {"reverse_task": {"explorations": 12, "tasks": 12}},
    {"rollout": {"trials": 4}},
    {"reflect_retry": {"reflector": "rules_blind", "equal_budget": True}},
    {"failure_injection": {}},
    {"critical_step": {}},
    {"topology": {}},
    {"filter": ["solved", "reexecuted", "provenance", "signals", "duplicates"]},
    {"export": {"kinds": ["sft", "dpo"], "include_scripted": True}},
)


def own_flow(world: str) -> dict[str, Any]:
    """The flow of a world that makes its tasks by seed."""
    return {"name": world, "seed": SEED, "env": {"name": world}, "models": {"explorer": NOISY}}


def flow_of(name: str, path: str | None, tasks: int | None) -> Flow:
    """The flow of a world with the stages that are compared."""
    told = own_flow(name)
    stages = list(STAGES)

    if path is not None:
        read = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        told |= {key: read[key] for key in ("seed", "env", "models") if key in read}
        named = {next(iter(one)) if isinstance(one, dict) else one for one in read["stages"]}
        stages = [one for one in STAGES if next(iter(one)) in named]

    if tasks is not None or "tasks" not in told["env"]:
        told["env"] = {**told["env"], "tasks": tasks or TASKS}

    return Flow.model_validate({**told, "stages": stages})


def played(flow: Flow) -> Found:
    """All figures of one world, from a run of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYNTH_STATE_DIR"] = f"{folder}/state"
        begun = time.process_time()
        _, reports = asyncio.run(synthesize(flow, f"{folder}/run", PlainProgress(StringIO())))
        took = time.process_time() - begun
        return {**figures(reports, open_ledger(f"{folder}/run")), "processor time": f"{took:.0f} s"}


def table(found: Mapping[str, Found]) -> str:
    """Worlds side by side; a method that a world has not is a dash."""
    rows = list(dict.fromkeys(row for each in found.values() for row in each))
    lines = [f"| | {' | '.join(map(in_cell, found))} |", "|---|" + "---|" * len(found)]
    for row in rows:
        cells = [in_cell(each.get(row, "-")) for each in found.values()]
        lines.append(f"| {in_cell(row)} | {' | '.join(cells)} |")

    return "\n".join(lines)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int)
    parser.add_argument("--world", action="append", metavar="NAME[=FLOW.yaml]", default=[])
    asked = parser.parse_args()
    found = {}

    for told in asked.world or ["storefront", "sql"]:
        name, _, path = told.partition("=")
        found[name] = played(flow_of(name, path or None, asked.tasks))
        print(table({name: found[name]}), file=sys.stderr, flush=True)  # worlds may take long

    print(table(found))


if __name__ == "__main__":
    main()
