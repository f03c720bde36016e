"""Flows for tests, on the echo world."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from synth.engine.context import Run
from synth.engine.progress import PlainProgress
from synth.flows.own.flow_file import flow_of, read_content
from synth.flows.synthesize import Recipe, synthesize
from synth.schemas.flow import Flow

ROLLOUT: dict[str, Any] = {"trials": 2}


def echo_flow(**changes: Any) -> Flow:
    """Echo world, its expert, two trials of four tasks, both filters, an SFT export."""
    content: dict[str, Any] = {
        "name": "echo",
        "seed": 3,
        "env": {"name": "echo", "tasks": 4, "turns": 3},
        "models": {"explorer": {"policy": "expert"}},
        "stages": [
            {"rollout": ROLLOUT},
            {"filter": ["solved", "reexecuted"]},
            {"export": {"kinds": ["sft"], "as": "trl", "include_scripted": True}},
        ],
    }
    return Flow.model_validate(content | changes)


def model_flow(url: str, **changes: Any) -> Flow:
    """The echo world played by a model behind `url`."""
    model = {"model": "test", "base_url": url, "timeout_s": 5, "max_retries": 1} | changes.pop(
        "model", {}
    )
    return echo_flow(models={"explorer": model}, **changes)


def read_flow(path: Path, overrides: Sequence[str] = ()) -> Flow:
    """The flow in a file."""
    return flow_of(read_content(path), overrides, str(path))


def run_flow(
    flow: Flow, url: str, recipe: Recipe = synthesize
) -> tuple[Run, Mapping[str, Mapping[str, Any]], str]:
    """Runs a flow in this process: the run, the reports, and what it said."""
    said = StringIO()
    run, reports = asyncio.run(recipe(flow, url, PlainProgress(said)))
    return run, reports, said.getvalue()


SYNTH = [sys.executable, "-c", "from synth.cli.main import main; main()"]
"""The command line in a process of its own."""
