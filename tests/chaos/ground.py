"""A run in a folder of its own, started as a user starts it, in a process that may be killed."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from synth.schemas.flow import Flow
from tests.chaos.holding import held
from tests.flow_files import SYNTH, echo_flow, model_flow

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120


STRACE = ("strace", "-f", "-qq", "-o", "/dev/null")
"""Stands before a command whose system calls are to fail, to last, or to kill; with --seccomp-bpf
none of them would kill.
"""


class Ground:
    """A flow file, a run directory and a state folder, in one folder or where they are said to
    lie.
    """

    def __init__(
        self, folder: Path, flow: Flow, *, run: Path | None = None, state: Path | None = None
    ) -> None:
        self.folder = folder
        self.url = str(run or folder / "run")
        self.state = state or folder / "state"
        self.file = folder / "flow.yaml"
        folder.mkdir(parents=True, exist_ok=True)
        self.write(flow)

    def write(self, flow: Flow) -> None:
        """Puts another flow in the place of the first."""
        self.file.write_text(yaml.safe_dump(flow.model_dump(mode="json")))

    def start(
        self,
        before: Sequence[str] = (),
        *,
        state: Path | None = None,
        quiet: bool = True,
        **how: Any,
    ) -> "subprocess.Popen[str]":
        """`synth run` in a process group of its own, `before` in front of it (strace, faketime)."""
        environment = (
            os.environ | {"SYNTH_STATE_DIR": str(state or self.state)} | how.pop("environment", {})
        )
        return subprocess.Popen(
            [
                *before,
                *SYNTH,
                "run",
                str(self.file),
                "--run-dir",
                self.url,
                *(["--quiet"] if quiet else []),
            ],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **how,
        )

    def ended(self, process: "subprocess.Popen[str]", patience_s: float = PATIENCE_S) -> str:
        """How a run ended: `finished`, `killed`, or `stopped: ` with its one line. A traceback
        fails the test.
        """
        try:
            _, said = process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            kill(process)
            raise AssertionError(f"the run did not end within {patience_s} s") from None
        assert not [line for line in said.splitlines() if line.startswith("Traceback")], said
        assert "internal error" not in said, said
        if process.returncode == 0:
            return "finished"
        if process.returncode < 0 or process.returncode == 128 + signal.SIGKILL:
            return "killed"
        lines = [line for line in said.splitlines() if line.startswith("synth: ")]
        assert len(lines) == 1, (
            f"exit {process.returncode} with {len(lines)} lines for the user: {said}"
        )
        return f"stopped: {lines[0].removeprefix('synth: ')}"

    def run(self, before: Sequence[str] = (), **how: Any) -> str:
        """Runs to the end."""
        return self.ended(self.start(before, **how))

    def begun(self, process: "subprocess.Popen[str]") -> None:
        """Waits until the run has a manifest, or is over."""
        while process.poll() is None and not Path(self.url, "manifest", "00000000").exists():
            time.sleep(0.002)

    def records(self) -> int:
        """Rows committed so far."""
        return held(self.url).records


def kill(process: "subprocess.Popen[str]") -> None:
    """SIGKILL to the whole group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.communicate()


def every_stage() -> Flow:
    """The stages that collect, label, measure, judge and export, on the storefront, by rules alone:
    it is the same each time.
    """
    return Flow.model_validate(
        {
            "name": "chaos",
            "seed": 7,
            "env": {"name": "storefront", "tasks": 5},
            "models": {"explorer": {"policy": "expert", "profiles": "mixed"}},
            "stages": [
                {"reverse_task": {"explorations": 2}},
                {"rollout": {"trials": 3, "shard": 6}},
                {"reflect_retry": {}},
                {"failure_injection": {"per_task": 1}},
                "topology",
                {"filter": ["solved", "reexecuted"]},
                {"export": {"kinds": ["sft", "kto"], "include_scripted": True}},
            ],
        }
    )


def asked(
    url: str, *, model: dict[str, Any] | None = None, rollout: dict[str, Any] | None = None
) -> Flow:
    """The echo world played by a model behind a server, in small shards, with filters and an
    export.
    """
    stages: list[Any] = [
        {"rollout": {"trials": 2, "shard": 8, "live": 8} | (rollout or {})},
        {"filter": ["solved", "reexecuted"]},
        {"export": {"kinds": ["sft"]}},
    ]
    return model_flow(
        url, env={"name": "echo", "tasks": 12, "turns": 3}, stages=stages, model=model or {}
    )


def echoed() -> Flow:
    """The echo world and its expert, in small shards; nothing is derived from what was collected
    before.
    """
    export = {"export": {"kinds": ["sft"], "include_scripted": True}}
    stages = [{"rollout": {"trials": 2, "shard": 8}}, {"filter": ["solved", "reexecuted"]}, export]
    return echo_flow(env={"name": "echo", "tasks": 12, "turns": 3}, stages=stages)
