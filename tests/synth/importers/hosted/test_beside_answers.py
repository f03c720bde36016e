"""What a provider ran beside an answer, or in others' words for it; conversations kept as items
alone.
"""

from pathlib import Path
from typing import Any

from synth.importers.tally import unread
from tests.synth.importers.hosted.test_hosted_tools import ASKED, SEARCH, played, text, words
from tests.synth.importers.imports import read_document, read_lines


def completed(message: dict[str, Any], **beside: Any) -> dict[str, Any]:
    """One call of Chat Completions."""
    response = {"object": "chat.completion", "model": "m", "choices": [{"message": message}]}
    request = {"model": "m", "messages": [{"role": "user", "content": ASKED}]}
    return {"request": request, "response": response | beside}


def test_tools_that_a_system_ran_before_its_answer_are_calls(tmp_path: Path) -> None:
    ran = {"index": 0, "type": "search", "arguments": '{"query": "q"}', "output": "Title: t"}
    answer = {"role": "assistant", "content": "So.", "executed_tools": [ran]}
    ((found,), _) = read_lines(tmp_path, [completed(answer)])
    assert played(found) == [
        ("provider_run", None, [("search", {"query": "q"})], [("Title: t", False)]),
        (None, "So.", [], []),
    ]


def test_an_answer_whose_response_names_pages_carries_no_loss(tmp_path: Path) -> None:
    answer = {"role": "assistant", "content": "So.[1]"}
    pages = {"citations": ["u"], "search_results": [{"title": "t", "url": "u"}]}
    ((found,), _) = read_lines(tmp_path, [completed(answer, **pages)])
    assert [turn.mask for turn in found.trajectory.turns] == ["unread_block"]
    assert unread(found.trajectory) == {"search_results": 1, "citations": 1}


def test_items_alone_are_a_conversation(tmp_path: Path) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    gave = {"type": "function_call_output", "call_id": "c", "output": "2"}
    items = [{"role": "user", "content": ASKED}, call, gave, words("Two.")]
    for read_as in (read_document(tmp_path, items), read_lines(tmp_path, items)):
        ((found,), rejected) = read_as
        assert rejected == []
        assert played(found) == [(None, None, [("f", {})], [("2", False)]), (None, "Two.", [], [])]


def test_server_tools_in_the_words_of_langchain_and_opentelemetry(tmp_path: Path) -> None:
    call: dict[str, Any] = {
        "type": "server_tool_call",
        "id": "s",
        "name": "code",
        "args": {"code": "1+1"},
    }
    told_back = {
        "type": "server_tool_result",
        "tool_call_id": "s",
        "status": "success",
        "output": "2",
    }
    told = {"type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"], "lc": 1}
    kwargs = {"type": "ai", "content": [call, told_back, text("Two.")], "tool_calls": []}
    person = {"role": "user", "content": ASKED}
    ((found,), _) = read_document(tmp_path, {"messages": [person, told | {"kwargs": kwargs}]})
    expected = [
        ("provider_run", None, [("code", {"code": "1+1"})], [("2", False)]),
        (None, "Two.", [], []),
    ]
    assert played(found) == expected

    inner = {"type": "code", "code": "1+1"}
    call = {"type": "server_tool_call", "id": "s", "name": "code", "server_tool_call": inner}
    gave: dict[str, Any] = {"type": "server_tool_call_response", "id": "s"}
    gave |= {"server_tool_call_response": {"type": "code", "output": "2"}}
    parts = [call, gave, {"type": "text", "content": "Two."}]
    chat = [
        {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
        {"role": "assistant", "parts": parts},
    ]
    ((found,), _) = read_document(tmp_path, {"messages": chat})
    assert played(found) == expected


def test_an_answer_to_less_than_the_request_shows_carries_no_loss(tmp_path: Path) -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": ASKED}]}
    edits = [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2}]
    response: dict[str, Any] = {"type": "message", "role": "assistant", "model": "m"}
    response |= {"stop_reason": "end_turn", "content": [text("A.")]}
    response |= {"context_management": {"applied_edits": edits}}
    ((found,), _) = read_lines(tmp_path, [{"request": request, "response": response}])
    assert [turn.mask for turn in found.trajectory.turns] == ["edited_context"]


def test_tools_of_the_provider_in_an_inspect_sample_part_its_answer(tmp_path: Path) -> None:
    used = {"type": "tool_use", "tool_type": "code_execution", "id": "s", "name": "python"}
    used |= {"arguments": '{"code": "1+1"}', "result": "2"}
    search = {"type": "tool_use", "tool_type": "web_search", "id": "w", "name": "web_search"}
    search |= {"arguments": "{}", "result": ""}
    answer = {"role": "assistant", "content": [used, text("Two."), search, text("So.")]}
    messages = [{"role": "user", "content": ASKED}, answer]
    sample = {"id": 1, "epoch": 1, "input": ASKED, "target": "", "messages": messages}
    log = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": [sample]}
    ((found,), _) = read_document(tmp_path, log)
    assert played(found) == [
        ("provider_run", None, [("python", {"code": "1+1"})], [("2", False)]),
        ("provider_run", "Two.", [("web_search", {})], [(SEARCH, False)]),
        ("after_unseen_content", "So.", [], []),
    ]
