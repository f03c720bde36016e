"""Comparisons of collected trials: what is compared, with which counts, and why a task gives
none.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.pairs.labels import PairSettings
from synth.pairs.observed.report import ObservedReport
from synth.pairs.observed.rows import ObservedRow, observed_pairs
from synth.schemas.trajectory import Observation, Source, Trajectory, Turn
from tests.synth.pairs.planted import act, planted, run


def found(folder: Path, *trials: Trajectory) -> tuple[list[ObservedRow], ObservedReport]:
    report = ObservedReport()
    ledger = planted(folder, list(trials), [])
    return list(observed_pairs(ledger, PairSettings(), report)), report


def says(index: int, text: str) -> Turn:
    return Turn(index=index, content=text, observations=(Observation("Go on.", Source.USER),))


def ends(index: int = 1) -> Turn:
    return Turn(index=index, content="Done.")


def three_each() -> list[Trajectory]:
    """Three trials look and pass, three take and fail."""
    return [
        run(f"{tool}{n}", act(0, tool), ends(), solved=tool == "look")
        for tool in ("look", "take")
        for n in range(3)
    ]


def test_acts_at_one_state_are_compared_with_how_often_each_passed(tmp_path: Path) -> None:
    (row,), report = found(tmp_path, *three_each())
    pair = row.pair
    assert (pair.chosen_successes, pair.chosen_trials) == (3, 3)
    assert (pair.rejected_successes, pair.rejected_trials) == (0, 3)
    assert (pair.diverged, pair.depth, pair.single, pair.across_policies) == (
        "call",
        0,
        False,
        False,
    )
    assert pair.posterior == pytest.approx(69 / 70)
    assert [turn.tool_calls[0].name for turn in (row.chosen, row.rejected)] == ["look", "take"]
    assert (report.groups, report.compared, report.found, report.decisive) == (1, 1, 1, 1)


def test_shuffled_outcomes_are_the_measure_of_chance(tmp_path: Path) -> None:
    """3 of 6 pass: in none of the 20 ways to deal them do both acts, of 3 trials each, have as
    many; 2 ways give 3 against none, the only ones that are likely.
    """
    _, report = found(tmp_path, *three_each())
    assert report.shuffled.pairs == 1
    assert report.shuffled.likely == pytest.approx(2 / 20, abs=0.2)
    assert report.shuffled == found(tmp_path / "again", *three_each())[1].shuffled


def test_an_act_that_was_seen_less_than_three_times_is_single(tmp_path: Path) -> None:
    trials = three_each()[:4]
    (row,), _ = found(tmp_path, *trials)
    assert row.pair.single
    assert row.pair.rejected_trials == 1


def test_words_beside_words_are_told_from_calls(tmp_path: Path) -> None:
    (row,), _ = found(
        tmp_path,
        run("a", says(0, "Which lamp?"), ends(), solved=True),
        run("b", says(0, "No."), ends(), solved=False),
    )
    assert row.pair.diverged == "words"


def test_two_policies_are_named_and_told_of(tmp_path: Path) -> None:
    (row,), _ = found(
        tmp_path,
        run("a", act(0), ends(), solved=True),
        run("b", act(0, "take"), ends(), solved=False, model="other"),
    )
    pair = row.pair
    assert (pair.across_policies, pair.chosen_policy, pair.rejected_policy) == (
        True,
        "student",
        "other",
    )


def test_a_later_state_that_only_some_share_is_compared_too(tmp_path: Path) -> None:
    rows, _ = found(
        tmp_path,
        run("a", act(0), act(1, "give"), ends(2), solved=True),
        run("b", act(0), act(1, "drop"), ends(2), solved=False),
        run("c", act(0, "take"), ends(), solved=False),
    )
    assert [(one.pair.depth, one.pair.chosen_trials) for one in rows] == [(0, 2), (1, 1)]


HEARD = (Observation("Fetch the chair.", Source.USER),)
SEEN = (Observation("no lamp", call_id="c0", name="look"),)
COUNTED = {
    "environment": (run("a", act(0), ends(), solved=True, opening=HEARD), "b"),
    "other_prompt": (run("a", act(0), ends(), solved=True, system_prompt="Else."), "b"),
    "same_transcript": (run("a", act(0), ends(), solved=True), "b"),
    "words_beside_the_same_call": (
        run("a", act(0, content="So."), act(1, "give"), ends(2), solved=True),
        "b",
    ),
}


@pytest.mark.parametrize("reason", sorted(COUNTED))
def test_a_task_with_both_outcomes_gives_a_comparison_or_a_reason(
    tmp_path: Path, reason: str
) -> None:
    one, slot = COUNTED[reason]
    rows, report = found(tmp_path, one, run(slot, act(0), ends(), solved=False))
    assert (rows, dict(report.left_out)) == ([], {f"no_comparison:{reason}": 1})


def test_what_the_world_answered_otherwise_is_no_act(tmp_path: Path) -> None:
    one = run("a", act(0), act(1, "give"), ends(2), solved=True)
    other = run("b", act(0, observations=SEEN), act(1, "drop"), ends(2), solved=False)
    assert dict(found(tmp_path, one, other)[1].left_out) == {"no_comparison:environment": 1}


@pytest.mark.parametrize(
    "fields", [{"gold_informed": True}, {"guidance": "Look."}, {"parent_id": "x"}]
)
def test_whoever_was_told_something_is_no_trial(tmp_path: Path, fields: dict[str, Any]) -> None:
    told = run("a", act(0), ends(), solved=True, **fields)
    rows, report = found(tmp_path, told, run("b", act(0, "take"), ends(), solved=False))
    assert (rows, report.groups) == ([], 0)
    assert report.left_out == {"no_comparison:no_independent_trials": 1}


def test_a_benchmark_stays_here_unless_it_is_named(tmp_path: Path) -> None:
    trials = [
        run("a", act(0), ends(), solved=True, benchmark="b"),
        run("b", act(0, "take"), ends(), solved=False, benchmark="b"),
    ]
    rows, report = found(tmp_path, *trials)
    assert (rows, dict(report.left_out)) == ([], {"benchmark": 1})
