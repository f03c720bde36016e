"""Calls that a server left in the text of a reply, set against those that it found."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.models.replies.tool_call_recovery import with_recovered_calls
from synth.schemas.model import Completion
from synth.schemas.trajectory import ToolCall
from synth.text.calls.forms.hermes import rendered_call
from tests.synth.models.written_calls import (
    CALL,
    CALLS,
)


def test_calls_inside_the_thought_are_taken_where_there_are_none_outside() -> None:
    mended = with_recovered_calls(Completion(content="", thought=f"I should look.\n{CALL}"), [], ())
    assert [(call.call_id, call.name) for call in mended.tool_calls] == [("call_0_0", "find")]
    assert mended.thought == "I should look."
    assert "tool_call_in_thinking" in mended.repairs


def test_calls_weighed_in_thinking_do_not_count_beside_one_that_was_made() -> None:
    other = CALL.replace("find", "delete_everything")
    mended = with_recovered_calls(
        Completion(content=f"<think>maybe {other}?</think>\n{CALL}"), [], ()
    )
    assert [call.name for call in mended.tool_calls] == ["find"]
    assert mended.content == f"<think>maybe {other}?</think>"


@pytest.mark.parametrize(
    "content", [f"<think>look\n{CALL}</think>", f"<think>look\n{CALL}", f"look\n{CALL}</think>"]
)
def test_calls_inside_think_tags_are_taken_whole_or_half(content: str) -> None:
    mended = with_recovered_calls(Completion(content=content), [], ())
    assert [call.name for call in mended.tool_calls] == ["find"]
    assert CALL not in (mended.content or "")
    assert "tool_call_in_thinking" in mended.repairs


def test_content_that_was_only_a_call_becomes_null_and_raw_keeps_what_was_received() -> None:
    mended = with_recovered_calls(Completion(content=CALL, raw="as received"), [], ())
    assert (mended.content, mended.raw) == (None, "as received")


def test_a_call_that_the_server_found_and_left_in_the_text_too_is_one_call() -> None:
    completion = Completion(content=CALL, tool_calls=(ToolCall("x", "find", '{"id":1}'),))
    assert with_recovered_calls(completion, [], ()) is completion


def test_a_call_left_in_the_text_beside_those_found_is_recovered_after_them() -> None:
    completion = Completion(
        content=f"so\n{CALL}\n{CALL}",
        tool_calls=(ToolCall("x", "find", '{"id":1}'), ToolCall("y", "pay", "{}")),
    )
    mended = with_recovered_calls(completion, [], ())
    assert [(call.call_id, call.name, call.arguments) for call in mended.tool_calls] == [
        ("x", "find", '{"id":1}'),
        ("y", "pay", "{}"),
        ("call_0_2", "find", '{"id": 1}'),
    ]
    assert mended.content == "so"
    assert mended.repairs == ("tool_call_recovered", "tool_call_beside_others", "call_id_missing")


def test_calls_weighed_in_thinking_are_no_calls_where_the_server_found_others() -> None:
    completion = Completion(
        content=f"<think>{CALL}</think>", thought=CALL, tool_calls=(ToolCall("x", "pay", "{}"),)
    )
    assert with_recovered_calls(completion, [], ()) is completion


@pytest.mark.slow
@given(CALLS, st.data())
def test_whatever_part_of_the_calls_a_server_finds_none_is_lost_and_none_is_made_up(
    calls: list[ToolCall], data: st.DataObject
) -> None:
    calls = list(
        {json.dumps(json.loads(call.arguments), sort_keys=True): call for call in calls}.values()
    )  # of two that are the same, one in the text may be the one that was found
    part = data.draw(st.lists(st.booleans(), min_size=len(calls), max_size=len(calls)))
    known = [
        ToolCall(f"k{i}", call.name, call.arguments)
        for i, (call, found) in enumerate(zip(calls, part, strict=True))
        if found
    ]
    left_in_text = data.draw(st.booleans())
    text = "".join(
        rendered_call(call.name, call.arguments)
        for call, found in zip(calls, part, strict=True)
        if left_in_text or not found
    )
    mended = with_recovered_calls(Completion(content=text, tool_calls=tuple(known)), [], ())
    assert sorted((call.name, call.arguments) for call in mended.tool_calls) == sorted(
        (call.name, call.arguments) for call in calls
    )
    assert len({call.call_id for call in mended.tool_calls}) == len(calls)


@pytest.mark.parametrize("tag", ["<think>", "</think>"])
def test_a_thinking_tag_in_an_argument_is_no_thinking(tag: str) -> None:
    calls = [
        ToolCall("", "find", "{}"),
        ToolCall("", "write", json.dumps({"text": f"a {tag} b"})),
        ToolCall("", "find", '{"id": 2}'),
    ]
    content = "".join(rendered_call(call.name, call.arguments) for call in calls)
    mended = with_recovered_calls(Completion(content=content), [], ())
    assert [(call.name, call.arguments) for call in mended.tool_calls] == [
        (call.name, call.arguments) for call in calls
    ]
    assert "tool_call_in_thinking" not in mended.repairs


def test_recovered_calls_get_ids_that_the_history_does_not_have() -> None:
    history = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1_0", "function": {"name": "f", "arguments": "{}"}}],
        }
    ]
    (call,) = with_recovered_calls(Completion(content=CALL), history, ()).tool_calls
    assert call.call_id == "call_1_0_"
