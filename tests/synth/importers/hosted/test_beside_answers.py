"""What a provider ran beside an answer, and conversations kept as items alone."""

from pathlib import Path
from typing import Any

from synth.importers.unread import unread
from tests.synth.importers.hosted.test_hosted_tools import ASKED, played, words
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
