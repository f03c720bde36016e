"""Spans of traces, generations and runs are conversations."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.synth.importers.imports import read, read_document
from tests.synth.importers.shapes.dialogues import (
    ASKED,
    CHAT,
    FOUND,
    OUTLINE,
    SYSTEM,
    TOLD,
    TOOL,
    outline,
)
from tests.synth.importers.shapes.trace_records import (
    LOGS,
)

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


def test_a_packed_log_is_read_as_the_plain_one(tmp_path: Path) -> None:
    lines = "".join(json.dumps(one) + "\n" for one in LOGS["request and response"])
    (tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (found,), bad = read(tmp_path / "log.jsonl.gz")
    assert bad == []
    assert outline(found) == OUTLINE


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
