"""What comes into the ledger is what is counted: a record that cannot be held is counted as invalid, and said."""

from io import StringIO
from pathlib import Path

import msgspec

from synth.importers.commit import ImportTally, _commit
from synth.ledger import Ledger
from synth.run.progress import PlainProgress
from tests.trajectories import make_trajectory


def test_an_imported_record_that_cannot_be_held_is_counted_as_invalid_and_said(tmp_path: Path) -> None:
    ledger, tally, said = Ledger(str(tmp_path), create=True), ImportTally(), StringIO()
    good = make_trajectory("good", synthesizer="import", source="mine:1")
    bad = msgspec.structs.replace(make_trajectory("bad", synthesizer="import", source="mine:2"), seed=2**63)
    _commit(ledger, [good, bad], {}, tally, PlainProgress(said))
    assert tally.outcomes["mine"] == {"success": 1, "invalid": 1}
    (line,) = [line for line in said.getvalue().splitlines() if line.startswith("trajectory")]
    assert f"{bad.trajectory_id}: a value that the ledger cannot hold: seed: " in line
    assert ledger.state.current_valid() == [good.trajectory_id]
