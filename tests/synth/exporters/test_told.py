"""What an export says of itself: every reason that stands in the way, what was joined, how much
carries loss, what is not through.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from synth.exporters.export import ExportReport
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings, as_flag, as_key
from synth.exporters.registry import form_of, kind_of
from synth.schemas.filtering import Verdict
from synth.schemas.trajectory import Authorship, Observation, Source, Trajectory, Turn
from synth.selection.candidates import loss_characters
from tests.synth.exporters.solved import call, export_sft, result, trajectory

ASIDE = Observation("Thanks.", Source.USER)
JOINED = (
    Turn(index=0, tool_calls=(call("{}"),), observations=(result(), ASIDE)),
    Turn(index=1, content="Done."),
)


def told(out: Path, *sources: Trajectory, **chosen: Any) -> ExportReport:
    pairs: list[tuple[Trajectory, Mapping[str, Verdict]]] = [(source, {}) for source in sources]
    return export_sft(pairs, DatasetFolder(out), RowSettings(**chosen), as_flag)


def test_reasons_that_hide_behind_each_other_are_told_in_one_line(tmp_path: Path) -> None:
    both = [
        trajectory(str(at), authorship=Authorship.SCRIPTED, split="test", benchmark="b")
        for at in range(3)
    ]
    assert told(tmp_path / "out", *both).empty == (
        "3 of 3 trajectories left out as benchmark; --allow-benchmark takes them in, with a "
        "warning in the card; then 3 as held_out; --allow-held-out takes them in, with a warning "
        "in the card; then 3 as scripted; --include-scripted takes them in"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_reason_that_no_setting_clears_ends_the_line(tmp_path: Path) -> None:
    silent = trajectory(
        "s", authorship=Authorship.SCRIPTED, turns=(Turn(index=0, content="x", mask="m"),)
    )
    assert told(tmp_path / "out", silent).empty == (
        "1 of 1 trajectories left out as scripted; --include-scripted takes them in; then 1 as "
        "no_trained_turn"
    )


def injected(identity: str, **fields: Any) -> Trajectory:
    """A recovery: the turns before the injected one, and it, carry no loss."""
    turns = (
        Turn(index=0, content="a"),
        Turn(index=1, content="b", injected="FM-1.1"),
        Turn(index=2, content="c"),
    )
    return trajectory(
        identity, synthesizer="failure_injection", turns=turns, pivot_turn=1, **fields
    )


def left_out(report: ExportReport) -> str:
    (note,) = [note for note in report.notes if note.startswith("Left out")]
    return note


def test_what_stands_behind_a_reason_is_told_with_it_in_the_words_of_the_place(
    tmp_path: Path,
) -> None:
    pairs: list[tuple[Trajectory, Mapping[str, Verdict]]] = [
        (trajectory(), {}),
        (injected("i"), {}),
    ]
    told_by = {as_flag: ("--include-evidence", "--unroll per_turn", "--keep-masked")}
    told_by[as_key] = ("include_evidence: true", "unroll: per_turn", "keep_masked: true")
    for say, (evidence, per_turn, masked) in told_by.items():
        folder = tmp_path / say.__name__
        line = left_out(export_sft(pairs, DatasetFolder(folder), RowSettings(), say))
        assert line == (
            f"Left out: 1 as evidence_only; they were played to test an act; {evidence} takes "
            "them in; then 1 as "
            "masked_turns:before_pivot+injected; the form cannot say that a turn carries no "
            f"loss; {per_turn} gives one row per turn "
            f"that does, and {masked} takes them in as they are, for trainers that read that "
            "column."
        )
        assert line in (folder / "README.md").read_text()
    taken = {"include_evidence": True, "keep_masked": True}
    assert told(tmp_path / "taken", trajectory(), injected("i"), **taken).rows == 2


@pytest.mark.parametrize(
    "settings", [{"form": "axolotl"}, {"unroll": "per_turn"}, {"keep_masked": True}]
)
def test_where_nothing_stands_behind_it_nothing_more_is_told(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    note = left_out(told(tmp_path / "out", trajectory(), injected("i"), **settings))
    assert (
        note == "Left out: 1 as evidence_only; they were played to test an act; "
        "--include-evidence takes them in."
    )


def test_every_reason_behind_the_first_is_told_and_one_that_no_setting_clears_is_too(
    tmp_path: Path,
) -> None:
    hidden = (
        injected("s", authorship=Authorship.SCRIPTED),
        injected("f", authorship=Authorship.SCRIPTED, tools=({"maximum": 10**30},)),
    )
    note = left_out(told(tmp_path / "out", trajectory(), *hidden))
    assert note.startswith("Left out: 2 as scripted; --include-scripted takes them in; ")
    assert [one.partition(";")[0] for one in note.split("; then ")[1:]] == [
        "2 as evidence_only",
        "1 as inexact_tool_schemas",
        "1 as masked_turns:before_pivot+injected",
    ]


def test_what_llamafactory_cannot_alternate_is_named_as_the_table_names_it_with_its_remedy_first(
    tmp_path: Path,
) -> None:
    report = told(
        tmp_path / "out", trajectory(), trajectory("t2", turns=JOINED), form="llamafactory"
    )
    (note,) = [note for note in report.notes if note.startswith("Left out")]
    assert note.startswith(
        "Left out: 1 as llamafactory:no_alternation; --join-answers takes them in"
    )
    assert report.left_out == {"llamafactory:no_alternation": 1}


def test_no_remedy_is_named_for_what_it_would_not_take_in(tmp_path: Path) -> None:
    marks = (
        Turn(index=0, content="<tool_call>", tool_calls=(call("{}"),), observations=(result(),)),
        Turn(index=1, content="."),
    )
    report = told(
        tmp_path / "out",
        trajectory(),
        trajectory("t2", turns=marks),
        form="llamafactory",
        control_tokens="keep",
    )
    assert report.left_out == {"llamafactory:marks_of_calls_in_the_text": 1}
    assert not any("join" in note for note in report.notes)


def test_joined_answers_are_counted_in_the_rows_that_have_them(tmp_path: Path) -> None:
    report = told(tmp_path / "out", trajectory(), trajectory("t2", turns=JOINED), join_answers=True)
    assert [
        note for note in report.notes if "joined" in note or "stands in that answer" in note
    ] == [
        "In 1 of 2 rows what users said right after a tool answered stands in that answer, after "
        "[user] (--join-answers): not as the model "
        "saw it."
    ]
    none = told(tmp_path / "none", trajectory(), join_answers=True)
    assert not any("stands in that answer" in note for note in none.notes)


def test_a_form_that_says_who_spoke_when_joins_nothing_and_says_so(tmp_path: Path) -> None:
    report = told(tmp_path / "out", trajectory("t2", turns=JOINED), form="atif", join_answers=True)
    assert "--join-answers changes nothing here: atif says who spoke when." in report.notes
    assert not any("stands in that answer" in note for note in report.notes)
    (document,) = (json.loads(path.read_text()) for path in (tmp_path / "out" / "traces").iterdir())
    assert [step["message"] for step in document["steps"] if step["source"] == "user"][
        -1
    ] == "Thanks."


@pytest.mark.parametrize("form", ["trl", "llamafactory", "axolotl", "atif"])
def test_the_size_of_what_carries_loss_is_that_of_the_selection_in_every_form(
    tmp_path: Path, form: str
) -> None:
    spaced = trajectory()  # thought "look first", find, {"q": "ß", "n": 2}; then "Here it is."
    size = len("look first") + len("find") + len('{"q": "ß", "n": 2}') + len("Here it is.")
    assert loss_characters(spaced) == size
    report = told(tmp_path / "out", spaced, form=form)
    assert (report.loss, report.loss_unit) == (size, "characters")
    assert (
        f"2 assistant turns with loss ({size} characters)"
        in (tmp_path / "out" / "README.md").read_text()
    )


def test_the_card_of_tasks_names_columns_that_the_rows_have() -> None:
    assert {"prompt", "tool_schemas"} <= set(form_of("rl", "trl").schema().names)
    assert "`prompt` and `tool_schemas` are what the agent is shown" in kind_of("rl").one_row


def test_an_export_of_a_run_that_is_through_says_nothing_of_it(tmp_path: Path) -> None:
    export_sft([(trajectory(), {})], DatasetFolder(tmp_path / "out"))
    assert "unfinished" not in json.loads((tmp_path / "out" / "manifest.json").read_text())
