"""Logs of single calls add up to the conversations that they belong to, whoever wrote them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.synth.importers.imports import read, read_document, read_lines
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

USAGE = {"prompt_tokens": 10, "completion_tokens": 3}
FIRST = {"model": "m", "temperature": 0.5, "tools": [TOOL], "messages": CHAT[:2]}
SECOND = {**FIRST, "messages": CHAT[:4]}


def completion(message: dict[str, Any]) -> dict[str, Any]:
    """A response of Chat Completions."""
    return {
        "id": "r",
        "object": "chat.completion",
        "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": USAGE,
    }


def pair(request: Any, response: Any) -> dict[str, Any]:
    """A line of a log."""
    return {"request": request, "response": response}


CALL_BLOCK = {"type": "tool_use", "id": "c1", "name": "find_order", "input": {"order": 7}}
RESULT_BLOCK = {"type": "tool_result", "tool_use_id": "c1", "content": FOUND}
BLOCKS: list[dict[str, Any]] = [
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": [CALL_BLOCK]},
    {"role": "user", "content": [RESULT_BLOCK]},
]


def message(content: Any) -> dict[str, Any]:
    """A response of Anthropic's API."""
    return {
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": content,
        "stop_reason": "x",
    }


ASK = {"model": "m", "system": SYSTEM, "max_tokens": 9}
CALL_ITEM = {
    "type": "function_call",
    "id": "fc",
    "call_id": "c1",
    "name": "find_order",
    "arguments": '{"order": 7}',
}
RESULT_ITEM = {"type": "function_call_output", "call_id": "c1", "output": FOUND}
TEXT_ITEM = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": TOLD}],
}
FLAT_TOOL = {"type": "function", **TOOL["function"]}  # type: ignore[dict-item]


def response(*output: Any, **more: Any) -> dict[str, Any]:
    """A response of the Responses API."""
    return {"object": "response", "model": "m-1", "output": list(output), **more}


ITEMS = {"model": "m", "instructions": SYSTEM, "tools": [FLAT_TOOL]}
USER_ITEM = {"role": "user", "content": [{"type": "input_text", "text": ASKED}]}
LOGS = {
    "request and response": [pair(FIRST, completion(CHAT[2])), pair(SECOND, completion(CHAT[4]))],
    "bodies": [
        pair({"body": FIRST}, {"status_code": 200, "body": completion(CHAT[2])}),
        pair({"body": SECOND}, {"status_code": 200, "body": completion(CHAT[4])}),
    ],
    "bodies as text": [
        {"request": json.dumps(FIRST), "response": json.dumps(completion(CHAT[2]))},
        {"request": json.dumps(SECOND), "response": json.dumps(completion(CHAT[4]))},
    ],
    "beside": [
        {**FIRST, "response": completion(CHAT[2])},
        {**SECOND, "response": completion(CHAT[4])},
    ],
    "choices beside": [{**FIRST, **completion(CHAT[2])}, {**SECOND, **completion(CHAT[4])}],
    "input and output": [
        {"input": FIRST, "output": completion(CHAT[2])},
        {"input": SECOND, "output": completion(CHAT[4])},
    ],
    "only the last": [pair(SECOND, completion(CHAT[4]))],
    "anthropic": [
        pair({**ASK, "messages": BLOCKS[:1]}, message([CALL_BLOCK])),
        pair({**ASK, "messages": BLOCKS}, message([{"type": "text", "text": TOLD}])),
    ],
    "responses": [
        pair({**ITEMS, "input": ASKED}, response(CALL_ITEM)),
        pair({**ITEMS, "input": [USER_ITEM, CALL_ITEM, RESULT_ITEM]}, response(TEXT_ITEM)),
    ],
    "responses by id": [
        pair({**ITEMS, "input": ASKED}, response(CALL_ITEM, id="r1")),
        pair(
            {**ITEMS, "input": [RESULT_ITEM], "previous_response_id": "r1"},
            response(TEXT_ITEM, id="r2"),
        ),
    ],
    "plain answers": [
        {"model": "m-1", "messages": CHAT[:2], "response": CHAT[2]},
        {"model": "m-1", "messages": CHAT[:4], "response": TOLD},
    ],
    "stored responses": [
        {**ITEMS, **response(CALL_ITEM, id="r1"), "input": [USER_ITEM]},
        {**ITEMS, **response(TEXT_ITEM), "input": [USER_ITEM, CALL_ITEM, RESULT_ITEM]},
    ],
}


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS.keys())
def test_the_calls_of_a_log_are_one_conversation(tmp_path: Path, log: list[Any]) -> None:
    found, bad = read_lines(tmp_path, log)
    assert bad == []
    assert [outline(one) for one in found] == [OUTLINE]
    assert found[0].trajectory.model == "m-1"


def test_tools_sampling_and_tokens_of_a_log_come_along(tmp_path: Path) -> None:
    (found,), _ = read_lines(tmp_path, LOGS["request and response"])
    trajectory = found.trajectory
    assert trajectory.tools == (TOOL,)
    assert trajectory.sampling == {"temperature": 0.5}
    assert [turn.usage and turn.usage.prompt_tokens for turn in trajectory.turns] == [10, 10]


def test_two_conversations_of_one_log_are_two_and_a_second_try_is_its_own(tmp_path: Path) -> None:
    other = {**FIRST, "messages": [{"role": "user", "content": "Else?"}]}
    log = [
        pair(FIRST, completion(CHAT[2])),
        pair(other, completion({"role": "assistant", "content": "No."})),
        pair(SECOND, completion(CHAT[4])),
        pair(other, completion({"role": "assistant", "content": "Yes."})),
    ]
    found, bad = read_lines(tmp_path, log)
    assert bad == []
    assert [len(one.trajectory.turns) for one in found] == [2, 1, 1]
    assert found[1].trajectory.turns[0].content == "No."


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            {"custom_id": "a", "response": {"status_code": 200, "body": completion(CHAT[4])}},
            "custom_id",
        ),
        (pair(FIRST, {"error": {"message": "rate limit"}}), "failed"),
    ],
)
def test_a_call_without_its_other_half_is_refused_with_what_to_do(
    tmp_path: Path, line: Any, said: str
) -> None:
    found, bad = read_lines(tmp_path, [*LOGS["request and response"], line])
    assert len(found) == 1
    assert [said in one.detail for one in bad] == [True]


PARTS_IN = [
    {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
    {
        "role": "assistant",
        "parts": [
            {"type": "tool_call", "id": "c1", "name": "find_order", "arguments": {"order": 7}}
        ],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": FOUND}]},
]
PARTS_OUT = [
    {"role": "assistant", "parts": [{"type": "text", "content": TOLD}], "finish_reason": "stop"}
]


def otlp(attributes: dict[str, Any], start: int, name: str = "chat m") -> dict[str, Any]:
    """A span in OTLP's JSON."""

    def typed(value: Any) -> dict[str, Any]:
        if isinstance(value, int):
            return {"intValue": str(value)}
        return {"stringValue": value if isinstance(value, str) else json.dumps(value)}

    listed = [{"key": key, "value": typed(value)} for key, value in attributes.items()]
    return {
        "traceId": "t",
        "spanId": f"s{start}",
        "name": name,
        "startTimeUnixNano": str(start),
        "attributes": listed,
    }


GENAI = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"}
GENAI_FIRST = {
    **GENAI,
    "gen_ai.system_instructions": [{"type": "text", "content": SYSTEM}],
    "gen_ai.input.messages": PARTS_IN[:1],
    "gen_ai.output.messages": PARTS_IN[1:2],
}
GENAI_SECOND = {
    **GENAI_FIRST,
    "gen_ai.input.messages": PARTS_IN,
    "gen_ai.output.messages": PARTS_OUT,
    "gen_ai.usage.input_tokens": 5,
    "gen_ai.usage.output_tokens": 2,
}
LLMETRY = {
    "gen_ai.request.model": "m-1",
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": SYSTEM,
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": ASKED,
    "gen_ai.prompt.2.role": "assistant",
    "gen_ai.prompt.2.tool_calls.0.id": "c1",
    "gen_ai.prompt.2.tool_calls.0.name": "find_order",
    "gen_ai.prompt.2.tool_calls.0.arguments": '{"order": 7}',
    "gen_ai.prompt.3.role": "tool",
    "gen_ai.prompt.3.tool_call_id": "c1",
    "gen_ai.prompt.3.content": FOUND,
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": TOLD,
}
PHOENIX = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "m-1",
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.content": SYSTEM,
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.contents.0.message_content.type": "text",
    "llm.input_messages.1.message.contents.0.message_content.text": ASKED,
    "llm.input_messages.2.message.role": "assistant",
    "llm.input_messages.2.message.tool_calls.0.tool_call.id": "c1",
    "llm.input_messages.2.message.tool_calls.0.tool_call.function.name": "find_order",
    "llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments": '{"order": 7}',
    "llm.input_messages.3.message.role": "tool",
    "llm.input_messages.3.message.tool_call_id": "c1",
    "llm.input_messages.3.message.content": FOUND,
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": TOLD,
    "llm.tools.0.tool.json_schema": json.dumps(TOOL),
    "llm.token_count.prompt": 5,
    "llm.token_count.completion": 2,
}
PHOENIX_TABLE = {
    "context.span_id": "s",
    "context.trace_id": "t",
    "span_kind": "LLM",
    "attributes.llm.model_name": "m-1",
    "attributes.llm.input_messages": [
        {"message.role": "system", "message.content": SYSTEM},
        {"message.role": "user", "message.content": ASKED},
        {
            "message.role": "assistant",
            "message.tool_calls": [
                {
                    "tool_call.id": "c1",
                    "tool_call.function.name": "find_order",
                    "tool_call.function.arguments": '{"order": 7}',
                }
            ],
        },
        {"message.role": "tool", "message.tool_call_id": "c1", "message.content": FOUND},
    ],
    "attributes.llm.output_messages": [
        {"message.role": "assistant", "message.content": TOLD},
    ],
}
EVENTS = {
    "name": "chat m",
    "context": {"trace_id": "t", "span_id": "s"},
    "start_time": "2026-01-01T00:00:00Z",
    "attributes": {"gen_ai.operation.name": "chat", "gen_ai.response.model": "m-1"},
    "events": [
        {"name": "gen_ai.system.message", "attributes": {"content": SYSTEM}},
        {"name": "gen_ai.user.message", "attributes": {"content": ASKED}},
        {
            "name": "gen_ai.assistant.message",
            "attributes": {"tool_calls": json.dumps(CHAT[2]["tool_calls"])},
        },
        {"name": "gen_ai.tool.message", "attributes": {"id": "c1", "content": FOUND}},
        {
            "name": "gen_ai.choice",
            "attributes": {
                "index": 0,
                "message": json.dumps({"role": "assistant", "content": TOLD}),
            },
        },
    ],
}


def document(*spans: Any) -> dict[str, Any]:
    """A document of OTLP."""
    return {
        "resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]
    }


def sdk(attributes: dict[str, Any]) -> dict[str, Any]:
    """A span as an SDK's console exporter writes it."""
    return {
        "name": "x",
        "context": {"trace_id": "t", "span_id": "s"},
        "parent_id": None,
        "start_time": "2026-01-01T00:00:00Z",
        "attributes": attributes,
    }


TRACES = {
    "otlp": document(
        otlp(GENAI_SECOND, 2),
        otlp(GENAI_FIRST, 1),
        otlp({"gen_ai.operation.name": "execute_tool"}, 3, "execute_tool find_order"),
    ),
    "last span alone": document(otlp(GENAI_SECOND, 1)),
    "openllmetry": sdk(LLMETRY),
    "openinference": sdk(PHOENIX),
    "phoenix table": PHOENIX_TABLE,
    "events": EVENTS,
    "structured attributes": sdk(GENAI_SECOND),
}


@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES.keys())
def test_the_spans_of_a_trace_are_one_conversation(tmp_path: Path, trace: Any) -> None:
    found, bad = read_document(tmp_path, trace)
    assert bad == []
    assert [outline(one) for one in found] == [OUTLINE]
    assert found[0].trajectory.model == "m-1"
    assert (found[0].trajectory.source or "").startswith("otel:")


def test_a_call_whose_content_was_not_captured_says_so(tmp_path: Path) -> None:
    found, bad = read_document(tmp_path, document(otlp(GENAI, 1)))
    assert found == []
    assert [(one.reason, "captured no content" in one.detail) for one in bad] == [
        ("no_content", True)
    ]


def test_a_trace_without_a_call_of_a_model_says_so(tmp_path: Path) -> None:
    span = otlp({"gen_ai.operation.name": "execute_tool"}, 1, "execute_tool f")
    found, bad = read_document(tmp_path, document(span))
    assert found == []
    assert [one.reason for one in bad] == ["no_calls"]


GENERATIONS = [
    {
        "id": f"o{number}",
        "traceId": "t",
        "type": "GENERATION",
        "startTime": f"2026-01-01T00:00:0{number}.000Z",
        "model": "m-1",
        "input": asked,
        "output": told,
        "usage": {"input": 10, "output": 3},
    }
    for number, asked, told in ((2, CHAT[:4], CHAT[4]), (1, CHAT[:2], CHAT[2]))
]


@pytest.mark.parametrize("as_trace", [True, False])
def test_langfuse_generations_are_one_conversation(tmp_path: Path, as_trace: bool) -> None:
    tool = {"id": "o9", "traceId": "t", "type": "TOOL", "input": {}, "output": FOUND}
    score = {"name": "quality", "value": 0.5}
    trace = {"id": "t", "name": "n", "observations": [*GENERATIONS, tool], "scores": [score]}
    found, bad = (
        read_document(tmp_path, [trace]) if as_trace else read_lines(tmp_path, [*GENERATIONS, tool])
    )
    assert bad == []
    assert [outline(one) for one in found] == [OUTLINE]
    assert found[0].trajectory.outcome == "unknown"
    assert "t" in found[0].names


def lc(kind: str, **kwargs: Any) -> dict[str, Any]:
    """A message as LangChain serialises it."""
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", kind],
        "kwargs": {"type": kind.removesuffix("Message").lower(), **kwargs},
    }


LC = [
    lc("SystemMessage", content=SYSTEM),
    lc("HumanMessage", content=ASKED),
    lc(
        "AIMessage",
        content="",
        tool_calls=[{"id": "c1", "name": "find_order", "args": {"order": 7}, "type": "tool_call"}],
    ),
    lc("ToolMessage", content=FOUND, tool_call_id="c1"),
    lc("AIMessage", content=TOLD, tool_calls=[], invalid_tool_calls=[]),
]


def run(number: int, asked: Any, told: Any, **more: Any) -> dict[str, Any]:
    """A run of LangSmith."""
    return {
        "id": f"r{number}",
        "trace_id": "t",
        "run_type": "llm",
        "dotted_order": f"2026010{number}",
        "inputs": {"messages": [asked]},
        "outputs": {"generations": [[{"text": "", "message": told}]]},
        "extra": {"metadata": {"ls_model_name": "m-1"}},
        **more,
    }


RUNS = [run(1, LC[:2], LC[2]), run(2, LC[:4], LC[4])]
ROOT = {"id": "r0", "trace_id": "t", "run_type": "chain", "inputs": {"x": 1}, "outputs": {}}
OPENAI_RUNS = [
    run(1, [], None, inputs={"messages": CHAT[:2]}, outputs=completion(CHAT[2])),
    run(2, [], None, inputs={"messages": CHAT[:4]}, outputs=completion(CHAT[4])),
]
GRAPH = {
    **ROOT,
    "inputs": {"messages": LC[:2]},
    "outputs": {"messages": [one["kwargs"] for one in LC]},
}


@pytest.mark.parametrize(
    "runs", [[ROOT, *RUNS], [{**ROOT, "child_runs": RUNS}], OPENAI_RUNS, [GRAPH]]
)
def test_langsmith_runs_are_one_conversation(tmp_path: Path, runs: list[Any]) -> None:
    found, bad = read_lines(tmp_path, runs)
    assert bad == []
    assert [outline(one) for one in found] == [OUTLINE]


def test_a_packed_log_is_read_as_the_plain_one(tmp_path: Path) -> None:
    lines = "".join(json.dumps(one) + "\n" for one in LOGS["request and response"])
    (tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (found,), bad = read(tmp_path / "log.jsonl.gz")
    assert bad == []
    assert outline(found) == OUTLINE


assert PARAMETERS


def logged(name: str, body: dict[str, Any]) -> dict[str, Any]:
    """A record of a log, of one span."""
    named = [{"key": "event.name", "value": {"stringValue": name}}]
    return {"timeUnixNano": "1", "traceId": "t", "spanId": "s", "attributes": named, "body": body}


def test_messages_that_were_logged_beside_a_span_are_its_conversation(tmp_path: Path) -> None:
    told = {"message": json.dumps({"role": "assistant", "content": TOLD}), "index": 0}
    records = [
        logged("gen_ai.system.message", {"content": SYSTEM}),
        logged("gen_ai.user.message", {"content": ASKED}),
        logged("gen_ai.choice", told),
    ]
    document = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    (found,), bad = read_document(tmp_path, document)
    assert bad == []
    one = found.trajectory
    assert (one.system_prompt, one.opening[0].content) == (SYSTEM, ASKED)
    assert [turn.content for turn in one.turns] == [TOLD]


def test_the_oldest_events_hold_all_messages_in_one(tmp_path: Path) -> None:
    def event(name: str, **said: Any) -> dict[str, Any]:
        return {"name": name, "attributes": {key: json.dumps(one) for key, one in said.items()}}

    asked = {"gen_ai.prompt": [{"role": "user", "content": ASKED}]}
    answered = {"gen_ai.completion": [{"role": "assistant", "content": TOLD}]}
    span = {
        "name": "chat",
        "span_id": "s",
        "trace_id": "t",
        "attributes": {"gen_ai.system": "x"},
        "events": [
            event("gen_ai.content.prompt", **asked),
            event("gen_ai.content.completion", **answered),
        ],
    }
    (found,), bad = read_document(tmp_path, span)
    assert bad == []
    assert [turn.content for turn in found.trajectory.turns] == [TOLD]
