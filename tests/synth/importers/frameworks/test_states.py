"""What frameworks keep of a run (AutoGen, LangGraph, LangChain) comes in as the same turns."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from synth.importers.conversation import LEFT_OUT
from tests.synth.importers.imports import read, read_document, read_lines
from tests.synth.importers.shapes.dialogues import (
    ARGUMENTS,
    ASKED,
    CHAT,
    FOUND,
    OUTLINE,
    SYSTEM,
    TOLD,
    outline,
)

CALL = {"id": "c1", "name": "find_order", "arguments": ARGUMENTS}
RESULT = {"content": FOUND, "name": "find_order", "call_id": "c1", "is_error": False}


def event(kind: str, content: Any, source: str = "helper", **more: Any) -> dict[str, Any]:
    """An event of a team."""
    used = {"prompt_tokens": 5, "completion_tokens": 2}
    usage = used if source != "user" and kind != "ToolCallExecutionEvent" else None
    return {"source": source, "models_usage": usage, "content": content, "type": kind, **more}


EVENTS = [
    event("TextMessage", ASKED, "user"),
    event("ThoughtEvent", "I look."),
    event("ToolCallRequestEvent", [CALL]),
    event("ToolCallExecutionEvent", [RESULT]),
    event("TextMessage", TOLD),
]
CONTEXT = [
    {"content": SYSTEM, "type": "SystemMessage"},
    {"content": ASKED, "source": "user", "type": "UserMessage"},
    {"content": [CALL], "thought": "I look.", "source": "helper", "type": "AssistantMessage"},
    {"content": [RESULT], "type": "FunctionExecutionResultMessage"},
    {"content": TOLD, "thought": None, "source": "helper", "type": "AssistantMessage"},
]


def test_events_of_a_team_are_turns_with_their_thoughts(tmp_path: Path) -> None:
    found, rejected = read_document(tmp_path, {"messages": EVENTS, "stop_reason": None})
    turns = found[0].trajectory.turns
    assert (outline(found[0]), rejected) == (OUTLINE[1:], [])
    assert [turn.thought for turn in turns] == ["I look.", None]
    assert [turn.usage.prompt_tokens for turn in turns if turn.usage] == [5, 5]


def test_a_summary_of_results_is_no_answer_of_the_model(tmp_path: Path) -> None:
    told = [*EVENTS[:4], event("ToolCallSummaryMessage", FOUND)]
    found, _ = read_document(tmp_path, {"messages": told, "stop_reason": "x"})
    assert outline(found[0]) == OUTLINE[1:5]
    assert [mark.metric for mark in found[0].marks] == ["summaries_of_results"]


def test_an_event_of_another_kind_leaves_a_note(tmp_path: Path) -> None:
    told = [EVENTS[0], event("HologramEvent", [1]), *EVENTS[1:]]
    found, _ = read_document(tmp_path, {"messages": told})
    notes = [LEFT_OUT.findall(one.content) for one in found[0].trajectory.opening]
    assert notes == [[], ["HologramEvent"]]


def test_a_saved_team_has_a_trajectory_for_each_of_its_models(tmp_path: Path) -> None:
    held = {"agent_state": {"llm_context": {"messages": CONTEXT}}}
    state = {"type": "TeamState", "agent_states": {"a": held, "b": held, "m": {"turn": 3}}}
    found, rejected = read_document(tmp_path, state)
    assert ([outline(one) for one in found], rejected) == ([OUTLINE, OUTLINE], [])


def lc(kind: str, content: str, **more: Any) -> dict[str, Any]:
    """A message as LangChain dumps it."""
    return {"type": kind, "data": {"type": kind, "content": content, **more}}


LANGCHAIN = [
    lc("system", SYSTEM),
    lc("human", ASKED),
    lc(
        "ai",
        "",
        tool_calls=[{"id": "c1", "name": "find_order", "args": {"order": 7}, "type": "tool_call"}],
        tool_call_chunks=[{"id": "c1", "name": "find_order", "args": ARGUMENTS, "index": 0}],
        additional_kwargs={"tool_calls": [CHAT[2]["tool_calls"][0]]},
    ),
    lc("tool", FOUND, tool_call_id="c1", status="success"),
    lc("ai", TOLD),
]


def test_a_file_of_messages_is_one_chat(tmp_path: Path) -> None:
    found, rejected = read_document(tmp_path, LANGCHAIN)
    assert ([outline(one) for one in found], rejected) == ([OUTLINE], [])
    assert [turn.mask for turn in found[0].trajectory.turns] == [None, None]


def test_messages_that_name_their_chats_are_that_many(tmp_path: Path) -> None:
    lines = [one | {"session_id": name} for name in "ab" for one in CHAT]
    found, rejected = read_lines(tmp_path, lines)
    assert ([outline(one) for one in found], rejected) == ([OUTLINE, OUTLINE], [])
    assert [one.names[0] for one in found] == ["a", "b"]


def test_a_chat_with_a_message_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("".join(json.dumps(one) + "\n" for one in CHAT) + "{broken\n")
    found, rejected = read(path)
    assert (found, [one.reason for one in rejected]) == ([], ["bad_record"])


def state(thread: str, messages: list[Any], step: int) -> dict[str, Any]:
    """A state of a thread."""
    config = {"configurable": {"thread_id": thread, "checkpoint_id": str(step)}}
    return {"values": {"messages": messages}, "config": config, "metadata": {"step": step}}


def test_a_history_gives_the_states_that_none_goes_on_from(tmp_path: Path) -> None:
    states = [state("a", LANGCHAIN[:end], end) for end in (5, 4, 3, 2)]
    found, rejected = read_document(tmp_path, [*states, {"values": {}, "config": {}}])
    assert ([outline(one) for one in found], rejected) == ([OUTLINE], [])


def test_two_branches_of_a_thread_and_two_threads_are_two(tmp_path: Path) -> None:
    other = [*LANGCHAIN[:4], lc("ai", "In Linz.")]
    rows = [state("a", LANGCHAIN, 5), state("a", other, 5), state("b", LANGCHAIN, 5)]
    found, _ = read_lines(tmp_path, rows)
    assert [outline(one)[-1][1] for one in found] == [TOLD, "In Linz.", TOLD]


@given(st.lists(st.integers(2, 5), min_size=1, max_size=6))
@settings(max_examples=25, deadline=None)
def test_states_in_any_order_give_the_longest_one(ends: list[int]) -> None:
    from synth.importers.frameworks.langgraph import FORMAT
    from synth.importers.records import Imported, ImportSettings, Record

    rows = [
        Record("f", "s", str(place), state("a", LANGCHAIN[:end], end))
        for place, end in enumerate(ends)
    ]
    found = list(FORMAT.read(rows, ImportSettings()))
    if max(ends) == 2:  # nothing was answered yet
        assert not any(isinstance(one, Imported) for one in found)
        return
    (only,) = found
    assert isinstance(only, Imported)
    assert outline(only) == OUTLINE[: {3: 4, 4: 5, 5: 6}[max(ends)]]
