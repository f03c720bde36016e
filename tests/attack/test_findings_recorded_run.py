"""A run whose ledger was written by a version that took floats for cards, and that could never be
finished: it is finished.

`recorded_findings/` holds what commit b2d7a81 wrote: four imported chats, a finding within a float
in a tool's answer, in arguments and in
a tool's schema, findings in the goals of two tasks; its `select` and its `report` ended with an
error at every try.
"""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from synth.cli.export import export
from synth.cli.publish import publish
from synth.cli.report import report
from synth.cli.run import curate
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from tests.attack.full_records import CARD, FLOAT, KEY, MAIL

RECORDED = Path(__file__).parent / "recorded_findings"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    shutil.copytree(RECORDED, tmp_path / "run")
    return tmp_path / "run"


def done(command: object, *arguments: object) -> str:
    found = CliRunner().invoke(command, [str(one) for one in arguments])  # type: ignore[arg-type]
    assert found.exit_code == 0, found.output
    return found.output


def test_the_recorded_decisions_are_those_that_no_run_survived(run: Path) -> None:
    with connect(StoredLedger(str(run))) as connection:
        details = [
            json.loads(one)
            for (one,) in connection.execute(
                "SELECT detail FROM decisions WHERE reason = 'redacted'"
            ).fetchall()
        ]
    places = {finding["place"] for detail in details for finding in detail["findings"]}
    assert {"goal", "tools", "turn.0.observation.0", "turn.0.call.0.arguments"} <= places


def test_it_is_finished_and_finished_again(run: Path) -> None:
    for at in range(2):
        said = done(curate, run, run / "flow.yaml")
        assert ("report: nothing to do" in said) is (at == 1)
    rows = [
        row
        for path in (run / "datasets").rglob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    ]
    everything = json.dumps(rows, default=str)
    assert len(rows) == 4
    assert not [secret for secret in (MAIL, KEY, str(CARD)) if secret in everything]
    assert str(FLOAT) in everything
    done(report, run)
    done(export, run, "--kind", "sft", "--as", "openai", "--out", run.parent / "out")
    assert "nothing was sent; to send it" in done(
        publish, run, "--repo", "me/set", "--license", "mit"
    )
