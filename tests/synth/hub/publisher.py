"""The publishing command in a process of its own, and what another process reads from the Hub
afterwards.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.synth.cli.test_commands import synth
from tests.synth.hub.hub_server import TOKEN, Hub

SENT = ("--repo", "set", "--license", "mit", "--yes")
READ = """
import json, sys
from datasets import load_dataset
print(json.dumps([load_dataset("me/set", name, split="train").to_list() for name in sys.argv[1:]]))
"""


def publish(run: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    done = synth("publish", run, *arguments, **environment)
    assert TOKEN not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def refused(done: "subprocess.CompletedProcess[str]", code: int = 2) -> str:
    assert done.returncode == code, done.stdout + done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("synth: ")]
    return line


def from_hub(environment: dict[str, str], *names: str) -> list[list[dict[str, Any]]]:
    """The rows of configurations, as another process reads them."""
    done = subprocess.run(
        [sys.executable, "-c", READ, *names],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found: list[list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def on_disk(run: Path, name: str) -> list[dict[str, Any]]:
    from datasets import load_dataset

    rows: list[dict[str, Any]] = load_dataset(
        str(run / "datasets" / name), split="train", cache_dir=str(run.parent / "cache")
    ).to_list()
    return rows


def head(hub: Hub) -> dict[str, bytes]:
    return hub.repos["me/set"].commits[-1]
