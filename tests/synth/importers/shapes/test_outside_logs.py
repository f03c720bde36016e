"""Logs as others keep them: Bedrock's invocations, OpenTelemetry's older events, MLflow's
traces.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.synth.importers.imports import read_document, read_lines
from tests.synth.importers.shapes.dialogues import (
    ASKED,
    CHAT,
    FOUND,
    OUTLINE,
    PARAMETERS,
    SYSTEM,
    TOLD,
    TOOL,
    outline,
)

USE = {"toolUse": {"toolUseId": "c1", "name": "find_order", "input": {"order": 7}}}
GAVE = {"toolUseId": "c1", "content": [{"json": json.loads(FOUND)}], "status": "success"}
SAID: list[dict[str, Any]] = [
    {"role": "user", "content": [{"text": ASKED}]},
    {"role": "assistant", "content": [USE]},
    {"role": "user", "content": [{"toolResult": GAVE}]},
    {"role": "assistant", "content": [{"text": TOLD}]},
]
SPEC = {"name": "find_order", "description": "Finds.", "inputSchema": {"json": PARAMETERS}}


def invocation(asked: list[Any], answer: Any) -> dict[str, Any]:
    """A call of Bedrock's Converse, as its log of invocations has it."""
    request = {
        "messages": asked,
        "system": [{"text": SYSTEM}, {"cachePoint": {"type": "default"}}],
        "inferenceConfig": {"maxTokens": 99},
        "toolConfig": {"tools": [{"toolSpec": SPEC}]},
    }
    usage = {"inputTokens": 11, "outputTokens": 4}
    output = {"output": {"message": answer}, "stopReason": "end_turn", "usage": usage}
    return {
        "schemaType": "ModelInvocationLog",
        "operation": "Converse",
        "modelId": "some.model",
        "input": {"inputBodyJson": request},
        "output": {"outputBodyJson": output},
    }


def test_invocations_of_bedrock_are_one_conversation(tmp_path: Path) -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}
    first = SAID[1] | {"content": [thought, USE]}
    log = [invocation(SAID[:1], first), invocation([SAID[0], first, SAID[2]], SAID[3])]
    failed = {key: one for key, one in log[0].items() if key != "output"}
    found, rejected = read_lines(tmp_path, [*log, failed | {"errorCode": "ThrottlingException"}])
    got = found[0].trajectory
    assert ([outline(one) for one in found], len(rejected)) == ([OUTLINE], 1)
    assert "a call that failed" in rejected[0].detail
    assert ([turn.thought for turn in got.turns], got.model) == (["Hm.", None], "some.model")
    assert got.tools == (TOOL,)
    assert [turn.usage.prompt_tokens for turn in got.turns if turn.usage] == [11, 11]


def spans(start: int, sent: list[Any], answer: Any) -> dict[str, Any]:
    """A span whose events hold their messages as JSON text."""
    told = [(f"gen_ai.{one['role']}.message", one) for one in sent]
    told.append(("gen_ai.choice", {"message": answer, "finish_reason": "stop", "index": 0}))
    events = [
        {
            "name": name,
            "attributes": [
                {"key": "gen_ai.event.content", "value": {"stringValue": json.dumps(said)}}
            ],
        }
        for name, said in told
    ]
    operation = {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}
    span = {"traceId": "t", "spanId": f"s{start}", "name": "chat m", "attributes": [operation]}
    span |= {"startTimeUnixNano": str(start), "events": events, "parentSpanId": "r"}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def test_events_whose_content_is_json_text_are_messages(tmp_path: Path) -> None:
    log = [spans(2, CHAT[:4], CHAT[4]), spans(1, CHAT[:2], CHAT[2])]
    found, rejected = read_lines(tmp_path, log)
    assert ([outline(one) for one in found], rejected) == ([OUTLINE], [])


def evaluation(label: str, value: float) -> dict[str, Any]:
    """A root span with an evaluation, in the trace of the calls above."""
    told = {"name": "solved", "score": {"value": value, "label": label}}
    attributes = {
        "gen_ai.evaluation.name": told["name"],
        "gen_ai.evaluation.score.value": value,
        "gen_ai.evaluation.score.label": label,
    }
    span: dict[str, Any] = {"trace_id": "t", "span_id": "r", "name": "invoke_agent"}
    span |= {"attributes": {"gen_ai.operation.name": "invoke_agent"}}
    return span | {"events": [{"name": "gen_ai.evaluation.result", "attributes": attributes}]}


@pytest.mark.parametrize("first", [True, False])
def test_an_evaluation_of_the_root_is_a_score_of_the_trace(tmp_path: Path, first: bool) -> None:
    rows = [spans(1, CHAT[:2], CHAT[2]), evaluation("fail", 0.0)]
    found, _ = read_lines(tmp_path, rows[::-1] if first else rows)
    marks = [(one.metric, one.value, one.score) for one in found[0].marks if one.score]
    assert marks == [("otel.solved", 0.0, "solved")]
    assert found[0].names[:2] == ("t", "r")


def test_a_conversation_within_another_one_has_not_its_verdict(tmp_path: Path) -> None:
    asked = [{"role": "user", "content": "Find a hotel."}]
    found_one = {"role": "assistant", "content": "The Adler."}
    rows = [
        spans(1, CHAT[:2], CHAT[2]),
        spans(2, asked, found_one),
        spans(3, CHAT[:4], CHAT[4]),
        evaluation("fail", 0.0),
    ]
    found, _ = read_lines(tmp_path, rows)
    assert [[one.score for one in each.marks if one.metric == "otel.solved"] for each in found] == [
        ["solved"],
        [None],
    ]


def mlflow(*calls: tuple[list[Any], Any], **more: Any) -> dict[str, Any]:
    """A trace with a call of a model for each pair."""
    held = [
        {
            "span_id": str(at),
            "start_time_unix_nano": at,
            "attributes": {
                "mlflow.spanType": '"CHAT_MODEL"',
                "mlflow.spanInputs": json.dumps({"messages": sent, "tools": [TOOL]}),
                "mlflow.spanOutputs": json.dumps({"choices": [{"message": answer}]}),
            },
        }
        for at, (sent, answer) in enumerate(calls)
    ]
    return {"info": {"trace_id": "tr-1", **more}, "data": {"spans": held}}


def test_a_trace_of_mlflow_is_one_conversation_with_its_feedback(tmp_path: Path) -> None:
    said = {"assessment_name": "correctness", "feedback": {"value": True}, "valid": True}
    hoped = {"assessment_name": "expected", "expectation": {"value": "Graz"}}
    old = said | {"feedback": {"value": False}, "valid": False}
    trace = mlflow((CHAT[:2], CHAT[2]), (CHAT[:4], CHAT[4]), assessments=[said, hoped, old])
    found, rejected = read_document(tmp_path, [trace])
    assert ([outline(one) for one in found], rejected) == ([OUTLINE], [])
    assert [(one.score, one.value) for one in found[0].marks] == [("correctness", 1.0)]
    assert found[0].trajectory.tools == (TOOL,)


CALL = json.dumps({"name": "find_order", "arguments": {"order": 7}})


def test_entries_of_calls_without_anything_between_are_one_turn(tmp_path: Path) -> None:
    rows = [
        {"from": "human", "value": ASKED},
        {"from": "gpt", "value": "I look."},
        {"from": "function_call", "value": CALL},
        {"from": "function_call", "value": CALL},
        {"from": "observation", "value": FOUND},
        {"from": "observation", "value": "none"},
        {"from": "gpt", "value": TOLD},
    ]
    found, _ = read_document(tmp_path, {"conversations": rows})
    assert outline(found[0]) == [
        ("user", ASKED),
        ("text", "I look."),
        ("call", "find_order", {"order": 7}),
        ("call", "find_order", {"order": 7}),
        ("tool", FOUND, 0),
        ("tool", "none", 1),
        ("text", TOLD),
    ]


@pytest.mark.parametrize("written", [json.dumps([TOOL]), str([TOOL]), json.dumps(TOOL) + "\n"])
def test_tools_in_a_system_prompt_are_the_tools(tmp_path: Path, written: str) -> None:
    prompt = (
        f"Signatures stand within <tools></tools> tags:\n<tools>\n{written}\n</tools>\nUse them."
    )
    found, _ = read_document(
        tmp_path, {"messages": [{"role": "system", "content": prompt}, *CHAT[1:]]}
    )
    assert found[0].trajectory.tools == (TOOL,)
    assert found[0].trajectory.system_prompt == prompt


@pytest.mark.parametrize("written", ["", "none", '{"a": 1}', "[1]", '[{"name": 3}]'])
def test_what_is_no_schema_is_no_tool(tmp_path: Path, written: str) -> None:
    told = {"role": "system", "content": f"<tools>{written}</tools>"}
    found, _ = read_document(tmp_path, {"messages": [told, *CHAT[1:]]})
    assert found[0].trajectory.tools == ()


def test_tools_may_lie_in_the_information_beside_a_chat(tmp_path: Path) -> None:
    found, _ = read_document(tmp_path, {"messages": CHAT, "info": {"oai_tools": [TOOL]}})
    assert found[0].trajectory.tools == (TOOL,)


def test_a_prompt_and_its_completion_as_texts_are_a_question_and_an_answer(tmp_path: Path) -> None:
    found, _ = read_document(tmp_path, [{"prompt": ASKED, "completion": TOLD, "reward": 1.0}])
    assert outline(found[0]) == [("user", ASKED), ("text", TOLD)]
    assert found[0].trajectory.outcome.value == "success"
