"""The first lines and the table of the card on the Hub."""

from pathlib import Path

import pyarrow as pa
import pytest

from synth.hub.card.card import Described, card, warnings
from synth.hub.outgoing import Searched
from synth.hub.row_facts import RowFacts
from synth.hub.source import Config
from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine

REPORT = {
    "rows": 1,
    "trained_turns": 0,
    "loss": 0,
    "loss_unit": "characters",
    "notes": [],
    "left_out": {},
    "filtered": {},
}


@pytest.fixture
def ledger(tmp_path: Path) -> StoredLedger:
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    ledger.begin_stage(StageLine("rollout", "rollout", {}))
    return ledger


def described(ledger: StoredLedger, **reports: int) -> Described:
    """A configuration of each kind with so many turns with loss."""
    configs = [
        Config(kind, kind, "trl", {}, REPORT | {"trained_turns": turns}, {})
        for kind, turns in reports.items()
    ]
    facts = {}
    for kind in reports:
        facts[kind] = RowFacts()
        facts[kind].take(pa.RecordBatch.from_pydict({"text": ["x"]}))
    searched = Searched(0, 0, 0, None)
    return Described(
        ledger,
        "me/set",
        {"license": "mit"},
        configs,
        facts,
        searched,
        0,
    )


def test_a_run_that_is_not_through_is_told_first_and_one_that_is_tells_nothing(
    ledger: StoredLedger,
) -> None:
    (line,) = warnings(described(ledger))
    assert (
        line
        == "rollout: not finished; what it has committed is published; these rows are a part of "
        "what the run is to give."
    )
    ledger.finish_stage(
        StageRef("rollout", "rollout"),
        {"kind": "method", "unit": "x", "attempted": 0, "verified": 0, "rejected": {}},
    )
    assert list(warnings(described(ledger))) == []


@pytest.mark.slow  # imports datasets
def test_a_size_that_nothing_counted_is_said_so_and_rows_without_loss_have_none(
    ledger: StoredLedger,
) -> None:
    lines = card(described(ledger, prm=110, rl=0)).splitlines()
    assert "| `prm` | prm | 1 | 110 | size not counted | trl |" in lines
    assert "| `rl` | rl | 1 | - | - | trl |" in lines
