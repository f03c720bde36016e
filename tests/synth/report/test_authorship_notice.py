"""The first lines of the page say whose work it shows, for it is the page that gets mailed."""

from pathlib import Path

import msgspec
import pytest

from synth.engine.table import Table
from synth.ledger.ledger import Score
from synth.report.authorship import notices
from synth.report.browser.stand_ins import StandIns
from synth.report.meanings import legend, meanings
from synth.report.sections import tasks
from synth.schemas.trajectory import Authorship
from tests.synth.report.episodes import episode, ledger_of, report, turn

pytestmark = pytest.mark.slow


def test_scripted_and_gold_informed_rows_are_told_before_any_section(tmp_path: Path) -> None:
    rows = [episode(f"{n:024x}", [turn(0, "O")], trial=n) for n in range(4)]
    rows[:3] = [msgspec.structs.replace(row, authorship=Authorship.SCRIPTED) for row in rows[:3]]
    rows[0] = msgspec.structs.replace(rows[0], gold_informed=True)
    ledger = ledger_of(str(tmp_path / "run"), rows)
    scripted, informed = notices(ledger)
    assert scripted.startswith("3 of 4 trajectories were written by scripts, not by a model")
    assert informed.startswith("1 of 4 trajectories was made by someone who had looked at gold")
    page = report(ledger, "synth report")
    assert (
        page.index("<h1>")
        < page.index(scripted)
        < page.index(informed)
        < page.index("<nav")
        < page.index("<section")
    )


def test_a_models_own_work_has_no_notice(tmp_path: Path) -> None:
    ledger = ledger_of(str(tmp_path / "run"), [episode("0" * 24, [turn(0, "O")])])
    assert list(notices(ledger)) == []
    assert 'class="notice"' not in report(ledger, "synth report")


def test_terms_are_explained_where_they_stand_and_below_for_touch_and_paper() -> None:
    known = {"salt": "what it <means>", "gigpo": "another"}
    table = Table("t", ("task", "salt"), [("a", "1")])
    assert '<abbr title="what it &lt;means&gt;">salt</abbr>' in table.html(known)
    said = legend("scores", ["singletons"])
    assert "<b>singletons</b>: share of the graph&#x27;s nodes" in said
    assert "(docs/topology.md)" in said
    assert "gigpo" not in said
    assert legend("scores", []) == ""


def test_every_column_and_metric_that_is_explained_is_one_that_the_page_has(
    tmp_path: Path,
) -> None:
    trials = [episode(f"{n:024x}", [turn(0, "O")], trial=n) for n in range(2)]
    measured = [
        Score(trials[0].task_id, metric, 0.5) for metric in ("mixed_group", "error_branch_ratio")
    ]
    ledger = ledger_of(str(tmp_path / "run"), trials, scores=measured)
    html = tasks.SECTION.render(ledger, StandIns()) or ""
    assert all(f">{term}</abbr>" in html for term in meanings("tasks"))
    terms = Path("docs/topology.md").read_text()
    assert all(f"`{metric}`" in terms for metric in meanings("scores"))
