"""Logs as they also occur: calls that failed, answers under other names, batches in two files."""

import json
from pathlib import Path
from typing import Any

import pytest

from synth.importers.records import Imported, Rejection
from tests.synth.importers.imports import imported, read_lines
from tests.synth.importers.shapes.dialogues import CHAT, OUTLINE, TOOL, outline

ASKS = [CHAT[:2], CHAT[:4]]
ANSWERS = [CHAT[2], CHAT[4]]


def answered(answer: Any) -> dict[str, Any]:
    """A response of Chat Completions."""
    return {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": answer}]}


CALLS = [
    ({"model": "m", "messages": asked, "tools": [TOOL]}, answered(answer))
    for asked, answer in zip(ASKS, ANSWERS, strict=True)
]


@pytest.mark.parametrize(
    "response",
    [None, {"error": {"message": "rate limit"}}, {"status_code": 500, "body": {"error": {"m": 1}}}],
)
def test_a_log_that_begins_with_a_call_that_failed_is_a_log(tmp_path: Path, response: Any) -> None:
    broken = {"request": CALLS[0][0], "response": response}
    found, rejected = read_lines(
        tmp_path, [broken, *({"request": asked, "response": told} for asked, told in CALLS)]
    )
    assert [outline(one) for one in found] == [OUTLINE]
    assert [(one.locator, one.reason) for one in rejected] == [("line1", "bad_record")]
    assert "a call" in rejected[0].detail


def test_a_response_that_holds_no_answer_is_a_rejection(tmp_path: Path) -> None:
    empty = {"id": "r", "object": "response", "status": "failed", "output": [], "error": {"m": 1}}
    told = {
        "role": "assistant",
        "type": "message",
        "content": [{"type": "output_text", "text": "a"}],
    }
    log = [
        {"request": {"model": "m", "input": "q"}, "response": empty},
        {"request": {"model": "m", "input": "q"}, "response": empty | {"output": [told]}},
    ]
    found, rejected = read_lines(tmp_path, log)
    assert len(found) == 1
    assert [(one.locator, one.reason) for one in rejected] == [("line1", "no_turns")]


@pytest.mark.parametrize(
    "record",
    [
        lambda asked, told: {"input": asked, "output": told, "model": "m", "tools": [TOOL]},
        lambda asked, told: {"inputs": {"messages": asked}, "outputs": {"messages": [told]}},
        lambda asked, told: {"item": {"input": asked}, "sample": answered(told)},
        lambda asked, told: {"input": asked, "output": told},
    ],
)
def test_the_answer_is_found_wherever_a_log_has_it(tmp_path: Path, record: Any) -> None:
    log = [record(asked, told) for asked, told in zip(ASKS, ANSWERS, strict=True)]
    found, rejected = read_lines(tmp_path, log)
    assert ([outline(one) for one in found], rejected) == ([OUTLINE], [])


def test_a_prompt_of_messages_keeps_the_message_that_answers_it(tmp_path: Path) -> None:
    ((found,), rejected) = read_lines(tmp_path, [{"prompt": ASKS[1], "response": ANSWERS[1]}])
    assert (outline(found), rejected) == (OUTLINE, [])
    assert [turn.mask for turn in found.trajectory.turns] == ["not_trained", None]


def test_preferences_for_openais_tuning_keep_their_prompt(tmp_path: Path) -> None:
    asked = {"messages": ASKS[1], "tools": [TOOL], "parallel_tool_calls": True}
    worse = {"role": "assistant", "content": "No idea."}
    record = {"input": asked, "preferred_output": [CHAT[4]], "non_preferred_output": [worse]}
    found, rejected = read_lines(tmp_path, [record])
    assert rejected == []
    assert [outline(one) for one in found] == [OUTLINE, [*OUTLINE[:-1], ("text", "No idea.")]]
    assert [len(one.trajectory.tools) for one in found] == [1, 1]
    preferred = [mark.value for one in found for mark in one.marks if mark.metric == "preferred"]
    assert preferred == [1.0, 0.0]


def lines(path: Path, rows: list[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def both(folder: Path) -> tuple[list[Imported], list[Rejection]]:
    found = list(imported([folder]))
    came = [one for one in found if isinstance(one, Imported)]
    return came, [one for one in found if isinstance(one, Rejection)]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_batch_is_joined_from_its_two_files(tmp_path: Path, names: tuple[str, str]) -> None:
    asked = {"method": "POST", "url": "/v1/chat/completions"}
    requests = [{"custom_id": f"r{at}", **asked, "body": one[0]} for at, one in enumerate(CALLS)]
    answers = [
        {"id": "b", "custom_id": f"r{at}", "response": {"status_code": 200, "body": one[1]}}
        for at, one in enumerate(CALLS)
    ]
    stray = {"id": "b", "custom_id": "r9", "response": answers[0]["response"]}
    lines(tmp_path / names[0], requests)
    lines(tmp_path / names[1], [*answers[::-1][1:], stray, *answers[1:]])
    found, rejected = both(tmp_path)
    assert [outline(one) for one in found] == [OUTLINE]
    assert sorted(one.reason for one in rejected) == ["bad_record", "description"]
    assert "whose custom_id no request" in next(
        one.detail for one in rejected if one.reason == "bad_record"
    )


def test_an_answer_is_joined_to_the_request_of_its_own_batch(tmp_path: Path) -> None:
    asked = {"custom_id": "r0", "method": "POST", "url": "/v1/chat/completions"}
    (request, response), *_ = CALLS
    answer = {"id": "b", "custom_id": "r0", "response": {"status_code": 200, "body": response}}
    other = request | {"messages": [{"role": "user", "content": "Something else?"}]}
    for name, body in (("one", request), ("two", other)):
        (tmp_path / name).mkdir()
        lines(tmp_path / name / "in", [asked | {"body": body}])
        lines(tmp_path / name / "out", [answer | {"id": name}])
    found, _ = both(tmp_path)
    assert [outline(one)[:2] for one in found] == [
        OUTLINE[:2],
        [("user", "Something else?"), OUTLINE[2]],
    ]

    # in one folder nobody can tell which of them was answered
    lines(tmp_path / "one" / "in2", [asked | {"body": other}])
    found, rejected = both(tmp_path / "one")
    assert not found
    assert "several requests" in next(one.detail for one in rejected if one.file == "out")


def test_verdicts_of_a_batch_are_no_answers_of_it(tmp_path: Path) -> None:
    asked = {"custom_id": "r0", "method": "POST", "url": "/v1/chat/completions"}
    (request, response), *_ = CALLS
    answer = {"custom_id": "r0", "response": {"status_code": 200, "body": response}}
    lines(tmp_path / "in", [asked | {"body": request}])
    lines(tmp_path / "out", [answer])
    lines(tmp_path / "verdicts", [{"custom_id": "r0", "result": "pass"}])
    found, rejected = both(tmp_path)
    assert len(found) == 1
    assert "--labels" in next(one.detail for one in rejected if one.file == "verdicts")


def test_a_batch_of_anthropics_is_joined_too(tmp_path: Path) -> None:
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]}
    told = {"id": "m", "type": "message", "role": "assistant", "stop_reason": "end_turn"}
    message = told | {"content": [{"type": "text", "text": "a"}]}
    lines(tmp_path / "a", [{"custom_id": name, "params": asked} for name in ("x", "y")])
    results = [
        {"custom_id": "x", "result": {"type": "succeeded", "message": message}},
        {"custom_id": "y", "result": {"type": "errored", "error": {"type": "invalid_request"}}},
    ]
    lines(tmp_path / "b", results)
    ((found,), rejected) = both(tmp_path)
    assert outline(found) == [("user", "q"), ("text", "a")]
    assert [one.detail for one in rejected if one.file == "b"] == [
        "a call that failed: no answer of the model"
    ]


def test_spans_whose_attributes_are_json_text_are_read(tmp_path: Path) -> None:
    said = [{"message": {"role": "user", "content": "q"}}]
    told = [{"message": {"role": "assistant", "content": "a"}}]
    attributes = {"openinference": {"span": {"kind": "LLM"}}}
    attributes["llm"] = {"input_messages": said, "output_messages": told}
    span = {"context": {"trace_id": "t", "span_id": "s"}, "name": "Chat", "span_kind": "LLM"}
    ((found,), _) = read_lines(tmp_path, [span | {"attributes": json.dumps(attributes)}])
    assert outline(found) == [("user", "q"), ("text", "a")]


WORDS = [[{"role": "user", "content": "q"}], '{"answer": 5}']
WRITTEN = {
    "log": {"request": {"model": "m", "messages": WORDS[0]}, "response": WORDS[1]},
    "comparison of one": {"prompt": WORDS[0], "completion": WORDS[1]},
    "texts": {"prompt": "q", "response": WORDS[1]},
    "langfuse": {
        "id": "1",
        "traceId": "t",
        "type": "GENERATION",
        "input": json.dumps(WORDS[0]),
        "output": WORDS[1],
    },
    "langsmith": {
        "id": "1",
        "run_type": "llm",
        "inputs": {"messages": WORDS[0]},
        "outputs": {"output": WORDS[1]},
    },
    "phoenix": {
        "context": {"trace_id": "t", "span_id": "s"},
        "name": "c",
        "attributes": {
            "openinference.span.kind": "LLM",
            "input.value": "q",
            "output.value": WORDS[1],
        },
    },
}


@pytest.mark.parametrize("record", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("answer", ['{"answer": 5}', "[1, 2]", "5", "null", '{"message": "hi"}'])
def test_an_answer_that_is_json_is_words(tmp_path: Path, record: Any, answer: str) -> None:
    told = json.loads(json.dumps(record).replace(json.dumps(WORDS[1]), json.dumps(answer)))
    (found,), bad = read_lines(tmp_path, [told])
    assert (outline(found), bad) == ([("user", "q"), ("text", answer)], [])


def test_a_question_that_is_json_is_words(tmp_path: Path) -> None:
    records = [
        {"prompt": WORDS[1], "completion": "a"},
        WRITTEN["langfuse"] | {"input": WORDS[1], "output": "a"},
    ]
    for record in records:
        (found,), _ = read_lines(tmp_path, [record])
        assert outline(found) == [("user", WORDS[1]), ("text", "a")]
