"""Sections that count: success, faults, cost, scores, agreement."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from synth.ledger import StoredLedger
from synth.ledger.ledger import Decision, Score
from synth.report.browser.stand_ins import StandIns
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.trajectory import Usage
from tests.synth.report.episodes import broken, episode, ledger_of, pair, report, turn

pytestmark = pytest.mark.slow


def rendered(section: str, ledger: StoredLedger) -> str:
    found = import_module(f"synth.report.sections.{section}").SECTION.render(ledger, StandIns())
    return found or ""


def rows_of(html: str, caption: str) -> list[list[str]]:
    """The body of the table with this caption, cell by cell, pictures left out."""
    (table,) = [part for part in html.split("<table>") if f"<caption>{caption}" in part]
    lines = re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1])
    return [
        [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", line)]
        for line in lines
    ]


def test_a_fault_is_no_verdict_in_any_rate(tmp_path: Path) -> None:
    solved = [episode(f"{n:024x}", [turn(0, "O")], trial=n) for n in range(3)]
    ledger = ledger_of(str(tmp_path / "run"), [*solved, broken("f" * 24, 2)])
    ((method, by, tasks, attempts, won, failed, cut, unknown, faults, rate, *_),) = rows_of(
        rendered("methods", ledger), "Attempts by method"
    )
    assert (method, by, tasks, attempts, won, failed, cut, unknown, faults) == (
        "rollout",
        "chat (a-model)",
        "1",
        "4",
        "3",
        "0",
        "0",
        "0",
        "1",
    )
    assert rate == "100%"
    html = rendered("tasks", ledger)
    assert "1 task, 4 trials, 100% of 3 with a verdict solved" in html


def test_faults_by_kind_by_task_and_by_length(tmp_path: Path) -> None:
    fine = [episode(f"{n:024x}", [turn(k, "O") for k in range(1)], trial=n) for n in range(6)]
    lost = [broken(f"{n:024x}", 4, task="another-task") for n in range(100, 103)]
    html = rendered("faults", ledger_of(str(tmp_path / "run"), [*fine, *lost]))
    ((boundary, count, share, tasks, detail),) = rows_of(html, "By kind")
    assert (boundary, count, share, tasks) == ("model", "3", "33.3%", "1")
    assert "&lt;/script&gt;" in detail
    assert [row[2:5] for row in rows_of(html, "By task")] == [["3", "3", "100%"]]
    assert [row[:3] for row in rows_of(html, "By length")] == [
        ["0 to 1", "6", "0"],
        ["2 to 4", "3", "3"],
    ]
    assert "1 task with faults; 1 lost more than 25%" in html


def test_a_run_of_faults_only_has_a_page_without_a_rate(tmp_path: Path) -> None:
    page = report(
        ledger_of(str(tmp_path / "run"), [broken(f"{n:024x}", n) for n in range(3)]), "synth report"
    )
    assert re.findall(r'<section id="(\w+)"', page) == [
        "methods",
        "tasks",
        "faults",
        "cost",
        "trajectories",
    ]
    assert "1 task, 3 trials, none with a verdict" in page


def test_calls_without_a_price_are_named_and_no_sum_hides_them(tmp_path: Path) -> None:
    used = [Usage(1000, 100, 0, 2, 0.25), Usage(500, 50, 0, 3, None)]
    attempts = [
        episode(f"{n:024x}", [turn(0, "O")], trial=n, totals=usage) for n, usage in enumerate(used)
    ]
    html = rendered("cost", ledger_of(str(tmp_path / "run"), attempts))
    assert (
        "1.6k tokens in 5 calls of 2 attempts; $0.25, without the 3 calls whose price is not known"
        in html
    )
    ((*_, dollars, unpriced),) = rows_of(html, "By method")
    assert (dollars, unpriced) == ("0.2500 and more", "3")


def test_undefined_values_are_counted_and_in_no_figure(tmp_path: Path) -> None:
    values = [0.0, 1.0, 2.0, None, float("nan")]
    scores = [Score("a" * 24, "gain", value, at) for at, value in enumerate(values)]
    html = rendered("scores", ledger_of(str(tmp_path / "run"), pair(), scores=scores))
    assert rows_of(html, "Every metric")[0][:9] == [
        "gain",
        "turns",
        "3",
        "2",
        "0",
        "0.2",
        "1",
        "1.8",
        "2",
    ]
    assert html.count('<rect x="') == 3


def test_agreement_counts_pairs_and_what_one_filter_drops_alone(tmp_path: Path) -> None:
    verdicts = {
        "x": (True, True),
        "y": (True, False),
        "z": (False, False),
        "u": (True, None),
        "v": (True, True),
    }
    decisions = [
        Decision(name * 24, which, keep, "why")
        for name, both in verdicts.items()
        for which, keep in zip(("one", "two"), both, strict=True)
    ]
    html = rendered("agreement", ledger_of(str(tmp_path / "run"), pair(), decisions=decisions))
    assert rows_of(html, "Each filter") == [
        ["one", "4", "1", "0", "0"],
        ["two", "2", "2", "1", "1"],
    ]
    # 4 decided by both; the same 3 of 4; by chance (3 * 2 + 1 * 2) / 16 = .5; kappa (.75 - .5) / .5
    assert rows_of(html, "Every two filters") == [
        ["one, two", "4", "2", "0", "1", "1", "75.0%", "0.50"]
    ]


def test_truncated_counts_as_not_solved_and_unknown_in_no_rate(tmp_path: Path) -> None:
    one = episode("1" * 24, [turn(0, "O")])
    cut = episode(
        "2" * 24,
        [turn(0, "O")],
        trial=1,
        outcome=Outcome.TRUNCATED,
        termination=Termination.TURN_LIMIT,
    )
    open_ = episode(
        "3" * 24, [turn(0, "O")], trial=2, outcome=Outcome.UNKNOWN, reward=None, check_result=None
    )
    html = rendered("methods", ledger_of(str(tmp_path / "run"), [one, cut, open_]))
    ((*_, rate, _interval, _bar),) = rows_of(html, "Attempts by method")
    assert rate == "50%"


def test_nothing_is_said_of_an_empty_run(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    page = report(ledger, "synth report")
    assert "The run holds nothing yet" in page
    assert "<script" not in page
