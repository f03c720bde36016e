"""Preferences, desirable turns and steps, from ledgers written by hand."""

from pathlib import Path

from tests.synth.exporters.kind_rows import rows_of
from tests.synth.pairs.planted import accepted, act, fork, planted, run, valued


def test_a_preference_row_is_one_turn_against_another_after_one_prompt_with_its_counts(
    tmp_path: Path,
) -> None:
    base, good = fork("a")
    ledger = planted(tmp_path, [base, good], [accepted(base, 1, good)])
    (row,), report = rows_of(tmp_path, "dpo", ledger)
    assert [m["role"] for m in row["prompt"]][-2:] == ["assistant", "tool"]
    assert [m["tool_calls"][0]["function"]["name"] for m in (*row["chosen"], *row["rejected"])] == [
        "take",
        "drop",
    ]
    assert row["chosen"][0]["tool_calls"][0]["function"]["arguments"] == {"what": "lamp"}
    assert (row["q_pos"], row["n_pos"], row["q_neg"], row["n_neg"], row["turn"]) == (
        1.0,
        4,
        0.0,
        4,
        1,
    )
    assert any(note.startswith("Sampled by: prefix student") for note in report.notes)
    assert rows_of(tmp_path / "off", "dpo", ledger, off_policy=True)[1].left_out["on_policy"] == 1


def test_axolotl_is_given_no_pair_whose_calls_its_strategy_would_drop(tmp_path: Path) -> None:
    base, good = fork("a")
    report = rows_of(
        tmp_path, "dpo", planted(tmp_path, [base, good], [accepted(base, 1, good)]), form="axolotl"
    )[1]
    assert (report.rows, report.left_out["axolotl:tool_calls"]) == (0, 1)


def test_a_step_row_is_two_texts_and_a_label_and_an_undecided_step_is_no_bad_one(
    tmp_path: Path,
) -> None:
    chair = {"arguments": {"what": "chair"}}
    base = run("base", act(0), act(1, "take", **chair), solved=False)
    good = run("good", act(0), act(1, "take"), solved=True, parent_id=base.trajectory_id)
    decided, open_ = [accepted(base, 1, good)], [valued(good, 0, 2, 4, 0.5)]
    rows, report = rows_of(tmp_path, "prm", planted(tmp_path, [base, good], decided + open_))
    assert all(label in (True, False) for row in rows for label in row["labels"])
    assert all(len(row["completions"]) == len(row["labels"]) == 1 for row in rows)
    assert all(row["completions"][0].startswith("assistant: ") for row in rows)
    assert (report.rows, dict(report.left_out)) == (2, {"trl:undecided_step": 1})
    assert {(row["q"], row["q_confirm"], row["n_confirm"]) for row in rows} == {
        (None, 0.75, 4),
        (None, 0.0, 4),
    }
    assert "Hard labels stand in pairs of the same tools: 2 by prompt." in report.notes


def test_a_step_that_its_tool_alone_gives_away_is_no_row(tmp_path: Path) -> None:
    base, good = fork("a")
    scores = [accepted(base, 1, good)]
    rows, report = rows_of(tmp_path, "prm", planted(tmp_path, [base, good], scores))
    assert (rows, dict(report.left_out)) == ([], {"no_opposite_of_its_tool": 2})


def test_a_desirable_turn_and_an_undesirable_one_are_rows_of_their_own(tmp_path: Path) -> None:
    base, good = fork("a")
    passed = run("passed", act(0), solved=True)
    rows, _ = rows_of(
        tmp_path, "kto", planted(tmp_path, [base, good, passed], [accepted(base, 1, good)])
    )
    assert {
        row["label"]: [m["tool_calls"][0]["function"]["name"] for m in row["completion"]]
        for row in rows
    } == {
        True: ["take"],
        False: ["drop"],
    }
