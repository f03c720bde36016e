"""What an SFT export leaves out, counted by reason, and what it says of what it took in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings, as_flag
from synth.schemas.errors import ConfigError
from synth.schemas.filtering import Verdict
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.trajectory import Authorship, Trajectory, Turn
from tests.synth.exporters.solved import call, export, export_sft, load, result, trajectory

Pairs = list[tuple[Trajectory, Mapping[str, Verdict]]]


def test_each_trajectory_that_is_left_out_is_counted_by_its_reason(tmp_path: Path) -> None:
    kept = Verdict(True, "solved")
    pairs: Pairs = [
        (trajectory("ok", split="train"), {"solved": kept, "pdi": Verdict(None, "undefined")}),
        (trajectory("f", outcome=Outcome.FAILURE, reward=0.0), {}),
        (trajectory("u", outcome=Outcome.UNKNOWN, reward=None), {}),
        (trajectory("l", outcome=Outcome.TRUNCATED, termination=Termination.TURN_LIMIT), {}),
        (
            trajectory(
                "i",
                outcome=Outcome.INVALID,
                termination=Termination.FAULT,
                fault=Fault.MODEL,
                reward=None,
            ),
            {},
        ),
        (trajectory("s", authorship=Authorship.SCRIPTED), {}),
        (trajectory("b", benchmark="tau-bench/retail"), {}),
        (trajectory("h", split="held_out"), {}),
        (trajectory("h2", split="test"), {}),
        (
            trajectory("v", tools=(), benchmark="b"),
            {"solved": kept, "secrets": Verdict(False, "email")},
        ),
        (trajectory("w", tools=()), {"solved": kept, "secrets": Verdict(False, "email")}),
        (trajectory("n", tools=()), {}),
        (trajectory("q", tools=(), turns=(Turn(index=0, content="Hi"),)), {}),
        (trajectory("x", tools=({"maximum": 10**30},)), {}),
        (
            trajectory(
                "r", turns=(Turn(index=0, observations=(result(),)), Turn(index=1, content="."))
            ),
            {},
        ),
        (
            trajectory(
                "c", turns=(Turn(index=0, tool_calls=(call("{}"),)), Turn(index=1, content="."))
            ),
            {},
        ),
        (trajectory("m", turns=(Turn(index=0, content="x", mask="m"),)), {}),
        (trajectory("e", turns=()), {}),
    ]
    report = export_sft(pairs, DatasetFolder(tmp_path / "out"), RowSettings(require_tools=True))
    assert report.left_out == {
        "outcome:failure": 1,
        "outcome:unknown": 1,
        "outcome:truncated": 1,
        "fault": 1,
        "scripted": 1,
        "benchmark": 2,
        "held_out": 2,
        "no_tool_schemas": 2,
        "inexact_tool_schemas": 1,
        "tool_result_without_call": 1,
        "call_without_tool_result": 1,
        "no_trained_turn": 2,
    }
    assert report.filtered == {"secrets:email": 1}
    assert report.rows + report.left_out.total() + report.filtered.total() == len(pairs)
    assert [row["trajectory_id"] for row in load(tmp_path / "out", tmp_path / "cache")] == ["ok"]


def test_continuations_that_were_played_to_test_an_act_are_evidence_and_no_rows_unless_asked_for(
    tmp_path: Path,
) -> None:
    methods = (
        "rollout",
        "reverse_task",
        "reflect_retry",
        "import",
        "critical_step",
        "failure_injection",
    )
    pairs: Pairs = [(trajectory(method, synthesizer=method), {}) for method in methods]
    pairs.append(
        (trajectory("lost", synthesizer="critical_step", outcome=Outcome.FAILURE, reward=0.0), {})
    )
    report = export_sft(pairs, DatasetFolder(tmp_path / "out"))
    assert report.left_out == {"evidence_only": 2, "outcome:failure": 1}
    assert [row["trajectory_id"] for row in load(tmp_path / "out", tmp_path / "cache")] == list(
        methods[:4]
    )
    assert any(
        note.startswith("Left out: 2 as evidence_only")
        and "include_evidence: true takes them in" in note
        for note in report.notes
    )
    every = export_sft(pairs, DatasetFolder(tmp_path / "every"), RowSettings(include_evidence=True))
    assert (every.rows, every.left_out) == (6, {"outcome:failure": 1})


def first_line_after_metadata(folder: Path) -> str:
    return (folder / "README.md").read_text().split("\n---\n", 1)[1].splitlines()[0]


@pytest.mark.parametrize(
    ("chosen", "fields", "warning"),
    [
        (
            {"include_scripted": True},
            {"authorship": Authorship.SCRIPTED},
            "WARNING: 1 of 1 rows were written by scripts",
        ),
        (
            {"include_evidence": True},
            {"synthesizer": "critical_step"},
            "WARNING: 1 of 1 rows were played to test an act",
        ),
        (
            {"allow_benchmark": True},
            {"benchmark": "tau-bench/retail"},
            "WARNING: 1 of 1 rows are attempts at public benchmarks",
        ),
        (
            {"allow_held_out": True},
            {"split": "held_out"},
            "WARNING: 1 of 1 rows are attempts at held-out tasks",
        ),
        (
            {"outcomes": ("failure",)},
            {"outcome": Outcome.FAILURE, "reward": 0.0},
            "WARNING: 1 of 1 rows are no successes",
        ),
        (
            {},
            {"gold_informed": True},
            "WARNING: 1 of 1 rows were made by someone who had looked at gold",
        ),
        (
            {},
            {"tools": ()},
            "WARNING: 1 of 1 rows call tools whose schemas their source did not record",
        ),
    ],
)
def test_what_is_taken_in_against_the_default_is_the_first_line_of_the_card(
    tmp_path: Path, chosen: dict[str, Any], fields: dict[str, Any], warning: str
) -> None:
    rows, _ = export(tmp_path, trajectory(**fields), **chosen)
    assert len(rows) == 1
    assert first_line_after_metadata(tmp_path / "out").startswith(warning)


def test_rows_whose_masks_the_form_cannot_say_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    broken = (
        Turn(index=0, tool_calls=(call("{oops"),), observations=(result("no JSON"),)),
        Turn(index=1, content="Done."),
    )
    report = export_sft(
        [(trajectory(), {}), (trajectory("b", turns=broken), {})],
        DatasetFolder(tmp_path / "out"),
        RowSettings(unroll="whole"),
    )
    assert (report.rows, dict(report.left_out)) == (1, {"masked_turns:parse_error": 1})
    assert [row["masked_turns"] for row in load(tmp_path / "out", tmp_path / "cache")] == [[]]


def test_faults_cannot_be_asked_for_and_unknown_settings_are_errors() -> None:
    with pytest.raises(ValidationError, match="a fault is no label"):
        RowSettings(outcomes=(Outcome.INVALID,))
    with pytest.raises(ValidationError, match="Extra inputs"):
        RowSettings.model_validate({"outcome": "success"})
    with pytest.raises(ConfigError, match="form 'yaml' is not a form of sft; known: trl, "):
        export_sft([], DatasetFolder("unused"), RowSettings(form="yaml"))


def test_the_card_says_how_many_rows_are_exact_copies_of_others(tmp_path: Path) -> None:
    other = trajectory("c", turns=(Turn(index=0, content="Something else."),))
    report = export_sft(
        [(trajectory("a"), {}), (trajectory("b"), {}), (other, {})], DatasetFolder(tmp_path / "out")
    )
    assert (
        "1 of 3 rows are exact copies of earlier ones (the same messages and tools)."
        in report.notes
    )
    alone = export_sft([(trajectory("a"), {}), (other, {})], DatasetFolder(tmp_path / "alone"))
    assert not any("copies" in note for note in alone.notes)


def test_an_export_without_rows_writes_nothing_and_says_the_most_common_reason_and_its_remedy(
    tmp_path: Path,
) -> None:
    scripted = [(trajectory(str(i), authorship=Authorship.SCRIPTED), {}) for i in range(3)]
    pairs: Pairs = [*scripted, (trajectory("f", outcome=Outcome.FAILURE, reward=0.0), {})]
    report = export_sft(pairs, DatasetFolder(tmp_path / "out"))
    assert (report.rows, report.written, list(tmp_path.iterdir())) == (0, (), [])
    assert (
        report.empty
        == "3 of 4 trajectories left out as scripted; include_scripted: true takes them in"
    )
    by_flag = export_sft(pairs, DatasetFolder(tmp_path / "out"), say=as_flag)
    assert (
        by_flag.empty
        == "3 of 4 trajectories left out as scripted; --include-scripted takes them in"
    )
    dropped = export_sft(
        [(trajectory(), {"solved": Verdict(False, "failure")})], DatasetFolder(tmp_path / "out")
    )
    assert dropped.empty == "1 of 1 trajectories dropped by solved:failure"
    assert (
        export_sft([], DatasetFolder(tmp_path / "out")).empty == "no valid trajectory was collected"
    )


def test_what_the_form_has_no_place_for_is_named_before_what_a_setting_would_change(
    tmp_path: Path,
) -> None:
    broken = (
        Turn(index=0, tool_calls=(call("{oops"),), observations=(result("no JSON"),)),
        Turn(index=1, content="Done."),
    )
    scripted = [(trajectory(str(i), authorship=Authorship.SCRIPTED), {}) for i in range(3)]
    report = export_sft(
        [*scripted, (trajectory("b", turns=broken), {})],
        DatasetFolder(tmp_path / "out"),
        RowSettings(form="atif"),
    )
    assert report.empty == "1 of 4 trajectories left out as atif:broken_arguments"


def test_an_earlier_data_set_stays_where_there_are_no_rows_and_can_be_replaced_later(
    tmp_path: Path,
) -> None:
    export(tmp_path, trajectory("earlier"))
    export_sft([], DatasetFolder(tmp_path / "out", replace="written"))
    assert [row["trajectory_id"] for row in load(tmp_path / "out", tmp_path / "cache")] == [
        "earlier"
    ]
    export_sft([(trajectory("later"), {})], DatasetFolder(tmp_path / "out", replace="written"))
    assert [row["trajectory_id"] for row in load(tmp_path / "out", tmp_path / "cache")] == ["later"]
