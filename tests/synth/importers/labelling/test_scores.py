"""Scores within the sources, and beside them, that are verdicts; all others stay scores."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from synth import import_trajectories
from synth.cli.import_runs import import_runs
from synth.importers.labelling.annotation_files import annotation_files
from synth.importers.labelling.scores import DECLARED, ScoreVerdicts
from synth.importers.records import ImportedLabel, ImportSettings
from synth.importers.tally import ImportTally
from synth.ledger.ledger import StoredLedger
from tests.synth.importers.shapes.dialogues import CHAT, TOLD


def trace(name: str, *scores: dict[str, Any]) -> dict[str, Any]:
    """A trace of Langfuse with one generation."""
    asked = [CHAT[0], {"role": "user", "content": f"About {name}?"}]
    answer = {"role": "assistant", "content": TOLD}
    call = {"type": "GENERATION", "startTime": "1", "input": asked, "output": answer}
    return {"id": name, "observations": [call | {"id": f"o-{name}"}], "scores": list(scores)}


def score(name: str, value: Any, **more: Any) -> dict[str, Any]:
    """A score of a trace."""
    return {"name": name, "value": value, "observationId": None, **more}


def taken(folder: Path, rows: Any, *more: Path, **options: Any) -> tuple[dict[str, str], Any]:
    """The outcome of each trace, and the tally."""
    path = folder / "traces.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tally = import_trajectories(path, *more, into=folder / "run", quiet=True, **options)
    assert isinstance(tally, ImportTally)
    ledger = StoredLedger(str(folder / "run"))
    found = {one.opening[0].content: one.outcome.value for one in ledger.trajectories()}
    return {goal.removeprefix("About ").strip("?"): one for goal, one in found.items()}, tally


@pytest.mark.parametrize("name", ["resolved", "isResolved", "Task success", "correctness", "pass"])
def test_a_score_whose_name_says_a_verdict_is_the_verdict(tmp_path: Path, name: str) -> None:
    rows = [trace(one, score(name, value)) for one, value in (("a", 1), ("b", 0), ("c", True))]
    found, tally = taken(tmp_path, [*rows, trace("d")])
    assert found == {"a": "success", "b": "failure", "c": "success", "d": "unknown"}
    assert [line.split(";")[0] for line in tally.verdicts] == [
        f"verdict  score {name!r} (3 trajectories)"
    ]


def test_one_value_between_yes_and_no_leaves_all_of_them_scores(tmp_path: Path) -> None:
    found, tally = taken(
        tmp_path, [trace("a", score("correct", 1)), trace("b", score("correct", 0.5))]
    )
    assert found == {"a": "unknown", "b": "unknown"}
    assert tally.verdicts == ()


def test_a_score_of_another_name_is_told_and_taken_where_asked_for(tmp_path: Path) -> None:
    rows = [trace("a", score("polite", 1)), trace("b", score("polite", 0))]
    found, tally = taken(tmp_path, rows)
    assert set(found.values()) == {"unknown"}
    assert "--column success=scores.polite" in tally.verdicts[0]
    (tmp_path / "asked").mkdir()
    found, _ = taken(tmp_path / "asked", rows, columns={"success": "scores.polite"})
    assert found == {"a": "success", "b": "failure"}


def test_a_score_that_is_the_only_one_and_says_pass_or_fail_is_the_verdict(tmp_path: Path) -> None:
    words = [trace(one, score("cause", None, stringValue=said)) for one, said in WORDS]
    found, _ = taken(tmp_path, words)
    assert found == {"a": "success", "b": "failure"}


WORDS = (("a", "pass"), ("b", "fail"))


def test_yes_and_no_answer_any_question_and_are_no_verdict(tmp_path: Path) -> None:
    rows = [trace(one, score("toxic", None, stringValue=said)) for one, said in ANSWERS]
    assert set(taken(tmp_path, rows)[0].values()) == {"unknown"}


ANSWERS = (("a", "True"), ("b", "False"))


@pytest.mark.parametrize("name", ["label", "Result", "outcome", "target"])
def test_a_name_that_anything_may_have_is_no_verdict_for_yes_and_no(
    tmp_path: Path, name: str
) -> None:
    arms = [trace(one, score(name, value)) for one, value in (("a", 1), ("b", 0))]
    found, tally = taken(tmp_path, arms)
    assert set(found.values()) == {"unknown"}
    assert f"--column success=scores.{name}" in tally.verdicts[0]

    (tmp_path / "both").mkdir()  # beside a verdict it is told too, and not taken
    rows = [trace("a", score(name, 0), score("resolved", 1)), trace("b", score(name, 1))]
    found, tally = taken(tmp_path / "both", rows)
    assert found == {"a": "success", "b": "unknown"}
    assert f"--column success=scores.{name}" in tally.verdicts[1]

    (tmp_path / "words").mkdir()  # what says it in words needs no name
    told = [trace(one, score(name, None, stringValue=said)) for one, said in WORDS]
    rows = [row | {"scores": [*row["scores"], score("polite", 1)]} for row in told]
    assert taken(tmp_path / "words", rows)[0] == {"a": "success", "b": "failure"}


def test_a_general_column_of_labels_is_told(tmp_path: Path) -> None:
    beside = tmp_path / "labels.csv"
    beside.write_text("trace_id,label,solved\na,0,1\n")
    found, tally = taken(tmp_path, [trace("a")], labels=[beside])
    assert (found, list(tally.labels.notes())) == ({"a": "success"}, [])

    (tmp_path / "alone").mkdir()
    beside.write_text("trace_id,label,arm\na,0,1\n")
    found, tally = taken(tmp_path / "alone", [trace("a")], labels=[beside])
    assert found == {"a": "failure"}
    assert list(tally.labels.notes()) == [
        "column 'label' is taken for the verdict of 1; --column success=NAME takes another one"
    ]
    (tmp_path / "named").mkdir()
    columns = {"success": "arm"}
    found, tally = taken(tmp_path / "named", [trace("a")], labels=[beside], columns=columns)
    assert (found, list(tally.labels.notes())) == ({"a": "success"}, [])


def test_a_verdict_can_be_left_a_score(tmp_path: Path) -> None:
    found, tally = taken(tmp_path, [trace("a", score("resolved", 1))], columns={"success": "-"})
    assert (found, tally.verdicts) == ({"a": "unknown"}, ())


def test_a_score_of_one_observation_is_none_of_the_whole(tmp_path: Path) -> None:
    found, _ = taken(tmp_path, [trace("a", score("resolved", 1) | {"observationId": "o-a"})])
    assert found == {"a": "unknown"}


def test_scores_in_a_file_of_their_own_find_their_traces(tmp_path: Path) -> None:
    rows = [
        {
            "id": "1",
            "traceId": one,
            "dataType": "BOOLEAN",
            "source": "API",
            **score("resolved", value),
        }
        for one, value in (("a", 1), ("b", 0), ("x", 1))
    ]
    beside = tmp_path / "scores.json"
    beside.write_text(json.dumps({"data": rows, "meta": {}}))
    found, tally = taken(tmp_path, [trace("a"), trace("b")], beside)
    assert found == {"a": "success", "b": "failure"}
    assert [one.keys for one in tally.labels.unmatched] == [("x",)]
    (tmp_path / "named").mkdir()
    found, _ = taken(tmp_path / "named", [trace("a"), trace("b")], labels=[beside])
    assert found == {"a": "success", "b": "failure"}


def test_annotations_of_spans_are_of_the_trace_whose_root_they_name(tmp_path: Path) -> None:
    spans = [_span("r", None, "AGENT"), _span("l", "r", "LLM", _llm())]
    named = {"span_id": "r", "name": "task_success", "annotator_kind": "HUMAN"}
    page = {"data": [named | {"result": {"label": "incorrect", "score": 0.0}}]}
    path, beside = tmp_path / "spans.jsonl", tmp_path / "annotations.json"
    path.write_text("".join(json.dumps(span) + "\n" for span in spans))
    beside.write_text(json.dumps(page))
    import_trajectories(path, beside, into=tmp_path / "run", quiet=True)
    (found,) = StoredLedger(str(tmp_path / "run")).trajectories()
    assert found.outcome.value == "failure"


def _llm() -> dict[str, Any]:
    asked = {"llm.input_messages.0.message": {"role": "user", "content": "q"}}
    return asked | {"llm.output_messages.0.message": {"role": "assistant", "content": TOLD}}


def _span(name: str, parent: str | None, kind: str, about: Any = None) -> dict[str, Any]:
    context = {"trace_id": "t", "span_id": name}
    return {"name": name, "context": context, "parent_id": parent, "span_kind": kind} | {
        "attributes": about or {},
        "start_time": "2025-01-01",
    }


_MARKS = st.lists(
    st.tuples(
        st.none() | st.floats(0, 1) | st.sampled_from([0.0, 1.0]),
        st.none() | st.sampled_from(["pass", "fail", "True", "False", "odd"]),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.slow
@given(_MARKS)
@settings(max_examples=100, deadline=None)
def test_a_verdict_is_taken_only_where_every_value_says_yes_or_no(marks: list[Any]) -> None:
    from tests.synth.importers.labelling.entries import scored

    entries = [
        scored(ImportedLabel("x.resolved", value, None, words and {"label": words}, "resolved"))
        for value, words in marks
    ]
    verdicts = ScoreVerdicts(lambda: entries, ImportSettings())
    outcomes = {verdicts.on(one).trajectory.outcome.value for one in entries}

    def says(value: float | None, words: str | None) -> bool:
        told = {None: None, "pass": 1.0, "True": 1.0, "fail": 0.0, "False": 0.0}.get(words, 2.0)
        held = {one for one in (value, told) if one is not None}
        return len(held) == 1 and held <= {0.0, 1.0}

    assert ("unknown" not in outcomes) == all(says(*one) for one in marks)
    assert outcomes == {"unknown"} or "unknown" not in outcomes
    assert DECLARED not in {mark.metric for one in entries for mark in one.marks}


def test_the_command_that_reads_verdicts_among_the_sources_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "some runs"
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps({"messages": CHAT, "id": "a"}))
    (folder / "labels.jsonl").write_text(json.dumps({"id": "a", "resolved": True}) + "\n")
    told = CliRunner().invoke(import_runs, [str(folder), "--into", str(tmp_path / "r"), "-q"])
    assert told.exit_code == 0, told.output
    line = next(one for one in told.output.splitlines() if "-labelled" in one)
    command = f"import '{folder}' --into {tmp_path / 'r'}-labelled"
    assert line.endswith(f"{command} --labels '{folder / 'labels.jsonl'}'")


def test_a_pipe_among_the_sources_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert list(annotation_files([tmp_path])) == []
