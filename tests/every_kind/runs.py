"""The two runs that every kind is exported from: one like the quickstart, and imported attempts of
real models at tau-bench.
"""

from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from benchmarks.critical_steps import EXPLORER
from synth.cli.import_runs import import_runs
from synth.flows.curate import curate
from synth.schemas.flow import Flow
from tests.flow_files import run_flow

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
KINDS = ["sft", "dpo", "kto", "prm", "rl", "attribution", "memory"]


def quickstart_with_every_kind() -> Flow:
    """configs/quickstart.yaml, smaller, by a policy that errs now and then, with critical steps,
    and all kinds exported.

    A planner that plays each state alike has no two outcomes after one prefix, which pairs and
    labels of turns need.
    """
    content: dict[str, Any] = yaml.safe_load(
        (ROOT / "configs" / "quickstart.yaml").read_text(encoding="utf-8")
    )
    stages = {
        next(iter(stage)) if isinstance(stage, dict) else stage: stage
        for stage in content["stages"]
    }
    changed = {
        "reverse_task": {"reverse_task": {"explorations": 3}},
        "rollout": {"rollout": {"trials": 4}},
        "failure_injection": {"failure_injection": {"per_task": 2}},
        "export": {"export": {"kinds": KINDS, "include_scripted": True}},
    }
    kept = [changed.get(name, stage) for name, stage in stages.items() if name != "report"]
    kept.insert(list(stages).index("topology"), {"critical_step": {}})
    return Flow.model_validate(
        content
        | {
            "env": content["env"] | {"tasks": 12},
            "models": {"explorer": dict(EXPLORER)},
            "stages": kept,
        }
    )


def quickstart(folder: Path) -> Path:
    """The run directory."""
    run_flow(quickstart_with_every_kind(), str(folder))
    return folder


def tau(folder: Path) -> Path:
    """The run directory; benchmarks are let in here, in tests, and nowhere else."""
    sources = [str(DATA / name) for name in ("tau1", "tau1_retail", "tau2_airline")]
    done = CliRunner().invoke(import_runs, [*sources, "--into", str(folder)])
    assert done.exit_code == 0, done.output
    filters = ["solved", {"duplicates": {"across_outcomes": False}}, "secrets"]
    flow = {
        "name": "tau",
        "stages": [{"filter": filters}, {"export": {"kinds": KINDS, "allow_benchmark": True}}],
    }
    run_flow(Flow.model_validate(flow), str(folder), curate)
    return folder
