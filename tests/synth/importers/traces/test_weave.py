"""Exports of Weave: calls of models among other ops, and the feedback on them."""

import json
from pathlib import Path
from typing import Any

import pytest

from synth import import_trajectories
from synth.ledger.ledger import StoredLedger
from tests.synth.importers.imports import read_lines
from tests.synth.importers.shapes.dialogues import CHAT, OUTLINE, outline


def called(name: str, trace: str, parent: str | None, inputs: Any, output: Any) -> dict[str, Any]:
    """A call of an op."""
    return {
        "id": name,
        "op_name": f"weave:///a/b/op/{name}:v1",
        "trace_id": trace,
        "parent_id": parent,
        "started_at": f"2025-05-01T10:00:0{name[-1]}Z",
        "inputs": inputs,
        "output": output,
        "summary": {"weave": {"status": "success"}},
    }


def completion(message: dict[str, Any]) -> dict[str, Any]:
    """A response of Chat Completions."""
    return {"model": "m", "choices": [{"index": 0, "message": message}]}


def traced(trace: str) -> list[dict[str, Any]]:
    """The dialogue as an op of a program that calls a model twice."""
    asked = [{"model": "m", "messages": CHAT[:end]} for end in (2, 4)]
    return [
        called(f"{trace}1", trace, None, {"question": f"{trace}?"}, "It is in Graz."),
        called(f"{trace}2", trace, f"{trace}1", asked[0], completion(CHAT[2])),
        called(f"{trace}3", trace, f"{trace}1", asked[1], completion(CHAT[4])),
    ]


def feedback(kind: str, call: str, **payload: Any) -> dict[str, Any]:
    """A row of feedback on a call."""
    return {"feedback_type": kind, "weave_ref": f"weave:///a/b/call/{call}", "payload": payload}


def thumb(emoji: str, alias: str, call: str = "x") -> dict[str, Any]:
    """A reaction to a call."""
    return feedback("wandb.reaction.1", call, emoji=emoji, alias=alias)


def outcomes(folder: Path, rows: list[dict[str, Any]], *beside: Path) -> dict[str, str]:
    """The outcome of each conversation, by its trace."""
    path = folder / "calls.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    import_trajectories(path, *beside, into=folder / "run", quiet=True)
    held = StoredLedger(str(folder / "run")).trajectories()
    return {one.opening[0].content: one.outcome.value for one in held}


def test_calls_of_the_model_are_the_conversation_and_other_ops_are_not(tmp_path: Path) -> None:
    (found,), rejected = read_lines(tmp_path, traced("t"))
    assert rejected == []
    assert outline(found) == OUTLINE
    assert found.trajectory.model == "m"


def asked(trace: str, words: str, *rows: dict[str, Any]) -> dict[str, Any]:
    """A call of a model that is a trace of its own, with feedback."""
    chat = {"messages": [{"role": "user", "content": words}]}
    call = called(
        f"{trace}1", trace, None, chat, completion({"role": "assistant", "content": "A."})
    )
    call["summary"]["weave"]["feedback"] = list(rows)
    return call


@pytest.mark.parametrize(
    ("rows", "outcome"),
    [
        ([thumb("👍", "+1")], "success"),
        ([thumb("👍🏽", ":+1::skin-tone-4:")], "success"),
        ([thumb("👎", ":thumbs_down:")], "failure"),
        ([thumb("👍", "+1"), thumb("👎", "-1")], "unknown"),
        ([thumb("🎉", "tada")], "unknown"),
        ([feedback("wandb.note.1", "x", note="hm")], "unknown"),
        ([], "unknown"),
    ],
)
def test_a_thumb_on_the_whole_is_the_verdict(
    tmp_path: Path, rows: list[dict[str, Any]], outcome: str
) -> None:
    assert outcomes(tmp_path, [asked("a", "Q?", *rows)]) == {"Q?": outcome}


def test_a_thumb_on_one_call_of_several_is_none_of_the_whole(tmp_path: Path) -> None:
    rows = traced("t")
    rows[2]["summary"]["weave"]["feedback"] = [thumb("👍", "+1")]
    assert set(outcomes(tmp_path, rows).values()) == {"unknown"}


def test_beside_another_score_a_thumb_is_told_and_not_taken(tmp_path: Path) -> None:
    other = feedback("wandb.annotation.tone", "x", value=1)
    rows = [asked("a", "Q?", thumb("👍", "+1"), other)]
    assert outcomes(tmp_path, rows) == {"Q?": "unknown"}


def test_feedback_in_a_file_of_its_own_finds_its_calls(tmp_path: Path) -> None:
    beside = tmp_path / "feedback.jsonl"
    rows = [thumb("👍", "+1", "a1"), thumb("👎", "-1", "b1")]
    beside.write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = outcomes(tmp_path, [asked("a", "A?"), asked("b", "B?"), asked("c", "C?")], beside)
    assert told == {"A?": "success", "B?": "failure", "C?": "unknown"}


def test_what_scorers_gave_becomes_rows_of_scores(tmp_path: Path) -> None:
    row = feedback("wandb.runnable.judge", "x", output={"passed": True, "words": 7})
    (found,), _ = read_lines(tmp_path, [asked("a", "Q?", row)])
    marks = {mark.metric: (mark.value, mark.score) for mark in found.marks}
    assert marks["weave.judge.passed"] == (1.0, "judge.passed")
    assert marks["weave.judge.words"] == (7.0, "judge.words")
