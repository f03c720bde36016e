"""Calls written as XML beside other forms, thinking and what a server found; hostile loops."""

import pytest

from synth.models.replies.tool_call_recovery import with_recovered_calls
from synth.schemas.model import Completion
from synth.schemas.trajectory import ToolCall
from synth.text.calls.forms.hermes import rendered_call
from tests.synth.models.xml_calls import PAY, found, written


def test_both_forms_in_one_reply_are_recovered_in_order() -> None:
    text = rendered_call("find", '{"id": 1}') + written("pay", {"sum": 2})
    assert found(text, PAY) == [("find", {"id": 1}), ("pay", {"sum": 2})]


def test_a_call_inside_thinking_is_taken_only_where_there_is_none_outside() -> None:
    weighed, done = written("pay", {"sum": 1}), written("pay", {"sum": 2})
    taken = with_recovered_calls(
        Completion(content=f"<think>{weighed}</think>", raw="as received"), [], [PAY]
    )
    assert [call.parsed() for call in taken.tool_calls] == [{"sum": 1}]
    assert (taken.raw, "tool_call_in_thinking" in taken.repairs) == ("as received", True)
    made = with_recovered_calls(Completion(content=f"<think>{weighed}</think>{done}"), [], [PAY])
    assert [call.parsed() for call in made.tool_calls] == [{"sum": 2}]


@pytest.mark.parametrize("tag", ["<think>", "</think>"])
def test_a_thinking_tag_in_a_value_is_no_thinking(tag: str) -> None:
    mended = with_recovered_calls(
        Completion(content=written("pay", {"to": f"a {tag} b"}) + written("pay", {"sum": 1})),
        [],
        [PAY],
    )
    assert [call.parsed() for call in mended.tool_calls] == [{"to": f"a {tag} b"}, {"sum": 1}]
    assert "tool_call_in_thinking" not in mended.repairs


def test_a_call_that_the_server_found_and_left_in_the_text_too_is_one_call() -> None:
    completion = Completion(
        content=written("pay", {"sum": 1}), tool_calls=(ToolCall("x", "pay", '{"sum":1}'),)
    )
    assert with_recovered_calls(completion, [], [PAY]) is completion


def test_half_a_surrogate_pair_in_a_value_becomes_text_that_can_be_stored() -> None:
    assert found(
        '<tool_call><function=pay><parameter=items>["\\ud800"]</parameter></function></tool_call>',
        PAY,
    ) == [("pay", {"items": ["\ufffd"]})]


@pytest.mark.slow
@pytest.mark.parametrize(
    "loop",
    [
        "<tool_call><function=pay><parameter=sum>",
        "<function=pay><parameter=sum></parameter>",
        "<parameter=sum>",
        "<tool_call><function=pay> ",
        " ",
    ],
)
def test_a_model_that_loops_on_its_tags_is_read_in_linear_time(loop: str) -> None:
    for text in (loop * 20_000, f"<tool_call><function=pay>{loop * 20_000}</tool_call>"):
        with_recovered_calls(Completion(content=text), [], [PAY])
