"""Spans in the attribute styles of older and other exporters, and calls that have no answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.synth.importers.imports import read_document, read_lines
from tests.synth.importers.shapes.dialogues import outline

SAID, TOLD = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
WANTED = [("user", "q"), ("text", "a")]
FUNCTION = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}
EVENTS = [
    {"event.name": "gen_ai.user.message", "gen_ai.message.index": 0, **SAID},
    {"event.name": "gen_ai.choice", "index": 0, "message": TOLD},
]


def span(attributes: dict[str, Any], key: str = "stringValue", **more: Any) -> dict[str, Any]:
    """A document of OTLP with one span, whose attributes are texts."""
    listed = [{"key": name, "value": {key: told}} for name, told in attributes.items()]
    one = {"traceId": "t", "spanId": "s", "name": "chat", "attributes": listed, **more}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "llm.request.type": "chat",
            "llm.prompts.0.role": "user",
            "llm.prompts.0.content": "q",
            "llm.completions.0.role": "assistant",
            "llm.completions.0.content": "a",
        },
        {"gen_ai.operation.name": "chat", "events": json.dumps(EVENTS)},
        {
            "openinference.span.kind": "LLM",
            "input.value": json.dumps({"model": "m", "messages": [SAID]}),
            "output.value": json.dumps({"choices": [{"index": 0, "message": TOLD}]}),
        },
        {"openinference.span.kind": "LLM", "input.value": "q", "output.value": "a"},
    ],
    ids=["llm.prompts", "events in an attribute", "values as JSON", "values as text"],
)
@pytest.mark.parametrize("key", ["stringValue", "string_value"])
def test_a_call_is_read_in_whichever_style_it_is_told(
    tmp_path: Path, attributes: dict[str, Any], key: str
) -> None:
    (found,), bad = read_document(tmp_path, span(attributes, key))
    assert (outline(found), bad) == (WANTED, [])


def test_tools_among_the_parameters_of_a_call_are_its_tools(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": FUNCTION}]
    about = {
        "openinference.span.kind": "LLM",
        "llm.invocation_parameters": json.dumps({"tools": tools}),
        "input.value": "q",
        "output.value": "a",
    }
    (found,), _ = read_document(tmp_path, span(about))
    assert [one["function"]["name"] for one in found.trajectory.tools] == ["f"]


@pytest.mark.parametrize(
    ("status", "said"),
    [({"code": 2}, "a call that failed"), ({}, "the exporter captured no content")],
)
def test_a_span_without_an_answer_says_whether_it_failed(
    tmp_path: Path, status: dict[str, int], said: str
) -> None:
    about = {"gen_ai.operation.name": "chat"}
    found, (bad,) = read_document(tmp_path, span(about, status=status))
    assert (found, bad.reason) == ([], "no_content")
    assert said in bad.detail


@pytest.mark.parametrize(
    ("good", "broken"),
    [
        (
            {"id": "1", "run_type": "llm", "inputs": {"messages": [SAID]}, "outputs": TOLD},
            {"outputs": None, "error": "RateLimitError"},
        ),
        (
            {"id": "1", "traceId": "t", "type": "GENERATION", "input": [SAID], "output": TOLD},
            {"output": None, "level": "ERROR"},
        ),
    ],
    ids=["langsmith", "langfuse"],
)
def test_a_call_without_an_output_is_a_rejection(
    tmp_path: Path, good: dict[str, Any], broken: dict[str, Any]
) -> None:
    found, (bad,) = read_lines(tmp_path, [good, good | {"id": "2"} | broken])
    assert [outline(one) for one in found] == [WANTED]
    assert (bad.locator, bad.reason) == ("line2", "no_content")
    assert "failed" in bad.detail


def test_schemas_among_langfuses_messages_are_tools(tmp_path: Path) -> None:
    schema = {"role": "tool", "content": {"type": "function", "function": FUNCTION}}
    call = {"id": "1", "traceId": "t", "type": "GENERATION", "output": TOLD}
    (found,), _ = read_lines(tmp_path, [call | {"input": [SAID, schema]}])
    assert outline(found) == WANTED
    assert [one["function"]["name"] for one in found.trajectory.tools] == ["f"]
