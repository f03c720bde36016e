"""The list below the funnel: names in one column, paths in another, each in one line of a log."""

from pathlib import Path

import pytest

import synth
from synth.cli.run import say_result
from tests.flow_files import echo_flow

pytestmark = pytest.mark.slow


def test_a_long_name_moves_the_column_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    export = {"export": {"kinds": ["sft"], "name": "evaluation", "include_scripted": True}}
    flow = echo_flow(stages=[{"rollout": {"trials": 2}}, export])
    synth.run(flow, run_dir=tmp_path / "run", quiet=True, ended=say_result)
    lines = capsys.readouterr().out.splitlines()
    closing = lines[next(at for at, line in enumerate(lines) if line.startswith("ledger ")) :]
    assert [line.split()[0] for line in closing] == ["ledger", "evaluation-sft", "cost", "look"]
    column = len("evaluation-sft") + 1
    assert all(line[column - 1] == " " and line[column] != " " for line in closing)
