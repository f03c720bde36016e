import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.models.replies.tool_call_recovery import (
    recover_tool_calls,
    rendered_call,
    with_recovered_calls,
)
from synth.schemas.model import Completion
from synth.schemas.trajectory import ToolCall

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON, max_size=4)
ARGUMENTS = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    OBJECTS,
    st.booleans(),
    st.sampled_from([None, 2]),
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
CALLS = st.lists(
    st.builds(lambda name, arguments: ToolCall.received("", name, arguments), NAMES, ARGUMENTS),
    min_size=1,
    max_size=4,
)
PLAIN = st.text(st.characters(exclude_characters="<"))
PIECES = st.lists(
    st.sampled_from(
        [
            "<tool_call>",
            "</tool_call>",
            "<think>",
            "</think>",
            '{"name": "f", "arguments": {',
            "}",
            '{"name": "f"}',
            '"',
            "\\",
            "x",
            "\n",
        ]
    )
    | st.text(max_size=5),
    max_size=20,
).map("".join)
CALL = '<tool_call>\n{"name": "find", "arguments": {"id": 1}}\n</tool_call>'


def names(text: str) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in recover_tool_calls(text).calls]


@given(st.text() | PIECES)
def test_it_never_raises(text: str) -> None:
    recover_tool_calls(text)
    with_recovered_calls(Completion(content=text, thought=text), [], ())


@given(st.text().filter(lambda text: "<tool_call>" not in text))
def test_text_without_tags_is_unchanged(text: str) -> None:
    recovered = recover_tool_calls(text)
    assert (recovered.calls, recovered.text, recovered.repairs) == ((), text, ())


@given(CALLS, PLAIN, PLAIN)
def test_calls_that_we_rendered_are_recovered_to_the_byte(
    calls: list[ToolCall], before: str, after: str
) -> None:
    text = before + "".join(rendered_call(call.name, call.arguments) for call in calls) + after
    recovered = recover_tool_calls(text)
    assert recovered.calls == tuple(calls)
    assert recovered.repairs == ("tool_call_recovered",)
    assert recovered.text == (before + after).strip()


@given(NAMES, st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<")))
def test_a_rendered_call_with_broken_arguments_stays_broken_under_its_own_name(
    name: str, arguments: str
) -> None:
    call = ToolCall.received("", name, arguments)
    (recovered,) = recover_tool_calls(rendered_call(call.name, call.arguments)).calls or (None,)
    if call.parse_error is not None and recovered is not None:
        assert recovered.name == name
        assert recovered.parse_error is not None


def test_arguments_keep_their_spacing_and_key_order() -> None:
    assert names('<tool_call>{"name":"f","arguments":{"b" :1,  "a":2.0}}</tool_call>') == [
        ("f", '{"b" :1,  "a":2.0}')
    ]


def test_a_closing_tag_inside_a_string_does_not_end_the_call() -> None:
    assert names(
        '<tool_call>{"name": "say", "arguments": {"t": "</tool_call> <tool_call>"}}</tool_call>'
    ) == [("say", '{"t": "</tool_call> <tool_call>"}')]


def test_arguments_may_come_before_the_name() -> None:
    assert names('<tool_call>{"arguments": {"s": "TSLA"}, "name": "quote"}</tool_call>') == [
        ("quote", '{"s": "TSLA"}')
    ]


def test_text_around_calls_is_kept() -> None:
    recovered = recover_tool_calls(f"Let me look.\n{CALL}\n{CALL}\nThen I will answer.")
    assert len(recovered.calls) == 2
    assert recovered.text.split("\n") == ["Let me look.", "", "", "Then I will answer."]


def test_a_call_cut_off_in_its_json_stays_text() -> None:
    text = '<tool_call>\n{"name": "find", "arguments": {"id": 1'
    assert recover_tool_calls(text).text == text
    assert recover_tool_calls(text).calls == ()


def test_whole_calls_before_a_cut_off_one_are_recovered() -> None:
    recovered = recover_tool_calls(CALL + '<tool_call>{"name": "pay", "arg')
    assert [call.name for call in recovered.calls] == ["find"]
    assert recovered.text == '<tool_call>{"name": "pay", "arg'


def test_a_whole_call_whose_tag_was_never_closed_is_recovered() -> None:
    recovered = recover_tool_calls('<tool_call>{"name": "find", "arguments": {}}')
    assert [call.name for call in recovered.calls] == ["find"]
    assert "tool_call_unclosed" in recovered.repairs


def test_two_objects_in_one_tag_are_two_calls() -> None:
    recovered = recover_tool_calls(
        '<tool_call>{"name": "a", "arguments": {}}\n{"name": "b", "arguments": {}}</tool_call>'
    )
    assert [call.name for call in recovered.calls] == ["a", "b"]
    assert "tool_call_extra_data" in recovered.repairs


def test_a_brace_too_many_does_not_lose_the_call() -> None:
    recovered = recover_tool_calls('<tool_call>{"name": "a", "arguments": {}}}</tool_call> ok')
    assert [(call.name, call.parse_error) for call in recovered.calls] == [("a", None)]
    assert recovered.text == "} ok"
    assert "tool_call_extra_data" in recovered.repairs


@pytest.mark.parametrize(
    ("inside", "name", "arguments"),
    [
        ('{"name": "pay", "arguments": {"sum": 1,}}', "pay", '{"sum": 1,}'),
        ('{"name": "pay", "arguments": {"sum": 1}', "pay", '{"sum": 1}'),
        ('{"arguments": {"sum": oops}, "name": "pay"}', "pay", '{"sum": oops}'),
        ('{"name": "pay", "arguments": {"sum": NaN}}', "pay", '{"sum": NaN}'),
        ('{"name": "pay"', "pay", ""),
    ],
)
def test_broken_json_in_a_recognisable_call_stays_the_agents_error(
    inside: str, name: str, arguments: str
) -> None:
    recovered = recover_tool_calls(f"<tool_call>{inside}</tool_call>")
    (call,) = recovered.calls
    assert (call.name, call.arguments) == (name, arguments)
    assert call.parse_error is not None
    assert "tool_call_broken_json" in recovered.repairs


@pytest.mark.parametrize(
    "inside",
    [
        "no json at all",
        '{"tool": "find"}',
        '{"name": 5, "arguments": {}}',
        "[]",
        "",
        '{"arguments": {"name": "bob"}}',
    ],
)
def test_a_tag_that_names_no_tool_stays_text(inside: str) -> None:
    text = f"so <tool_call>{inside}</tool_call> it is"
    recovered = recover_tool_calls(text)
    assert (recovered.calls, recovered.text) == ((), text)


def test_arguments_written_as_a_string_are_the_agents_error() -> None:
    (call,) = recover_tool_calls('<tool_call>{"name": "f", "arguments": "{}"}</tool_call>').calls
    assert call.arguments == '"{}"'
    assert call.parse_error is not None


def test_a_call_without_arguments_gets_none_and_says_so() -> None:
    recovered = recover_tool_calls('<tool_call>{"name": "list_all"}</tool_call>')
    assert recovered.calls == (ToolCall("", "list_all", "{}"),)
    assert "tool_call_without_arguments" in recovered.repairs


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


def test_a_call_that_the_server_left_in_the_text_beside_those_it_found_is_recovered_after_them() -> (
    None
):
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


def test_a_model_that_loops_on_the_tag_is_read_in_linear_time() -> None:
    recover_tool_calls("<tool_call>" * 50_000)
    recover_tool_calls("<tool_call>{" * 20_000 + "</tool_call>")
