"""What an export of a ledger says of itself: a run that is not through, one cause of two, what is
not counted.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from synth.cli.export import export as command
from synth.exporters.export import export
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.exporters.proof.check import prove
from synth.exporters.registry import form_of, kind_of
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import Decision, Score, StoredLedger
from synth.schemas.trajectory import Authorship, Observation, Source, Trajectory
from tests.synth.pairs.planted import accepted, act, planted, run, valued

pytestmark = pytest.mark.slow


def test_the_command_says_once_why_there_are_no_rows(tmp_path: Path) -> None:
    ledger = planted(tmp_path, [run("a", act(0), solved=True, authorship=Authorship.SCRIPTED)], [])
    done = CliRunner().invoke(command, [ledger.storage.url, "--out", str(tmp_path / "out")])
    assert "takes them in" not in done.output
    assert str(done.exception).count("--include-scripted takes them in") == 1


def of_one_tool() -> tuple[Trajectory, Trajectory]:
    """A failed trial and a continuation that passes: both acts are calls of one tool."""
    chair = act(1, "take", arguments={"what": "chair"})
    base = run("base", act(0), chair, solved=False)
    good = run("good", act(0), act(1, "take"), solved=True, parent_id=base.trajectory_id)
    return base, good


def test_what_is_not_counted_is_no_size_of_zero(tmp_path: Path) -> None:
    base, good = of_one_tool()
    export(
        "prm",
        planted(tmp_path, [base, good], [accepted(base, 1, good)]),
        DatasetFolder(tmp_path / "out"),
        RowSettings(),
    )
    assert (
        "2 assistant turns with loss (size not counted)"
        in (tmp_path / "out" / "README.md").read_text()
    )


def test_an_export_of_a_run_that_is_not_through_says_so_in_terminal_card_and_manifest(
    tmp_path: Path,
) -> None:
    ledger = planted(
        tmp_path,
        [run("a", act(0), solved=True, opening=(Observation("The lamp.", Source.USER),))],
        [],
    )
    out = tmp_path / "out"
    done = CliRunner().invoke(
        command, [ledger.storage.url, "--out", str(out)], catch_exceptions=False
    )
    said = "collected: not finished; what it has committed is exported"
    warning = f"WARNING: {said}; these rows are a part of what the run is to give."
    assert warning in done.output.splitlines()
    assert warning in (out / "README.md").read_text().splitlines()
    assert json.loads((out / "manifest.json").read_text())["unfinished"] == said
    assert warning in prove("sft", ledger, RowSettings(), unfinished=said).report.notes


def test_of_two_causes_at_one_turn_the_same_is_named_whichever_was_committed_first(
    tmp_path: Path,
) -> None:
    failed = run("a", act(0), act(1), solved=False)
    label = {"status": "confirmed", "q_pos": 1.0, "n_pos": 4, "q_neg": 0.0, "n_neg": 4}
    causes = [
        Score(failed.trajectory_id, metric, 1.0, 1, label) for metric in ("repair", "injection")
    ]
    found = []
    for at, scores in enumerate((causes, causes[::-1])):
        ledger = planted(tmp_path / str(at), [failed], scores)
        tally_rows = list(kind_of("attribution").rows(ledger, _tally()))
        found.append([row.cause.metric for row in tally_rows])
    assert found == [["injection"], ["injection"]]


def _tally() -> ExportCounts:
    return ExportCounts(kind_of("attribution"), RowSettings(), form_of("attribution", None))


def test_all_filters_are_honoured_by_labels_too_where_that_is_asked_for(tmp_path: Path) -> None:
    base, good = of_one_tool()
    dropped = [Decision(one.trajectory_id, "signals", False, "loop") for one in (base, good)]
    ledger: StoredLedger = planted(
        tmp_path,
        [base, good],
        [accepted(base, 1, good), valued(good, 1, 4, 4, 1.0)],
        decisions=dropped,
    )
    assert export("prm", ledger, DatasetFolder(tmp_path / "own"), RowSettings()).rows > 0
    report = export("prm", ledger, DatasetFolder(tmp_path / "every"), RowSettings(honour=("all",)))
    assert (report.rows, set(report.filtered)) == (0, {"signals:loop"})
