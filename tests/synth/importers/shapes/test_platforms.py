"""Generations and runs of tracing platforms are conversations."""

from pathlib import Path
from typing import Any

import pytest

from tests.synth.importers.imports import read_document, read_lines
from tests.synth.importers.shapes.dialogues import (
    ASKED,
    CHAT,
    FOUND,
    OUTLINE,
    SYSTEM,
    TOLD,
    outline,
)
from tests.synth.importers.shapes.trace_records import (
    completion,
)

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
