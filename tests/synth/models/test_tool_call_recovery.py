import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.models.replies.tool_call_recovery import with_recovered_calls
from synth.schemas.model import Completion
from synth.schemas.trajectory import ToolCall
from synth.text.calls.forms.hermes import rendered_call
from synth.text.calls.reading import read_calls
from tests.synth.models.written_calls import CALL, CALLS, NAMES, PIECES, PLAIN, names


@given(st.text() | PIECES)
def test_it_never_raises(text: str) -> None:
    read_calls(text)
    with_recovered_calls(Completion(content=text, thought=text), [], ())


@given(st.text().filter(lambda text: "<tool_call>" not in text))
def test_text_without_tags_is_unchanged(text: str) -> None:
    recovered = read_calls(text)
    assert (recovered.calls, recovered.text, recovered.repairs) == ((), text, ())


@pytest.mark.slow
@given(CALLS, PLAIN, PLAIN)
def test_calls_that_we_rendered_are_recovered_to_the_byte(
    calls: list[ToolCall], before: str, after: str
) -> None:
    text = before + "".join(rendered_call(call.name, call.arguments) for call in calls) + after
    recovered = read_calls(text)
    assert recovered.calls == tuple(calls)
    assert recovered.repairs == ("tool_call_recovered",)
    assert recovered.text == (before + after).strip()


@given(NAMES, st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<")))
def test_a_rendered_call_with_broken_arguments_stays_broken_under_its_own_name(
    name: str, arguments: str
) -> None:
    call = ToolCall.received("", name, arguments)
    (recovered,) = read_calls(rendered_call(call.name, call.arguments)).calls or (None,)
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
    recovered = read_calls(f"Let me look.\n{CALL}\n{CALL}\nThen I will answer.")
    assert len(recovered.calls) == 2
    assert recovered.text.split("\n") == ["Let me look.", "", "", "Then I will answer."]


def test_a_call_cut_off_in_its_json_stays_text() -> None:
    text = '<tool_call>\n{"name": "find", "arguments": {"id": 1'
    assert read_calls(text).text == text
    assert read_calls(text).calls == ()


def test_whole_calls_before_a_cut_off_one_are_recovered() -> None:
    recovered = read_calls(CALL + '<tool_call>{"name": "pay", "arg')
    assert [call.name for call in recovered.calls] == ["find"]
    assert recovered.text == '<tool_call>{"name": "pay", "arg'


def test_a_whole_call_whose_tag_was_never_closed_is_recovered() -> None:
    recovered = read_calls('<tool_call>{"name": "find", "arguments": {}}')
    assert [call.name for call in recovered.calls] == ["find"]
    assert "tool_call_unclosed" in recovered.repairs


def test_two_objects_in_one_tag_are_two_calls() -> None:
    recovered = read_calls(
        '<tool_call>{"name": "a", "arguments": {}}\n{"name": "b", "arguments": {}}</tool_call>'
    )
    assert [call.name for call in recovered.calls] == ["a", "b"]
    assert "tool_call_extra_data" in recovered.repairs


def test_a_brace_too_many_does_not_lose_the_call() -> None:
    recovered = read_calls('<tool_call>{"name": "a", "arguments": {}}}</tool_call> ok')
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
    recovered = read_calls(f"<tool_call>{inside}</tool_call>")
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
    recovered = read_calls(text)
    assert (recovered.calls, recovered.text) == ((), text)


def test_arguments_written_as_a_string_are_the_agents_error() -> None:
    (call,) = read_calls('<tool_call>{"name": "f", "arguments": "{}"}</tool_call>').calls
    assert call.arguments == '"{}"'
    assert call.parse_error is not None


def test_a_call_without_arguments_gets_none_and_says_so() -> None:
    recovered = read_calls('<tool_call>{"name": "list_all"}</tool_call>')
    assert recovered.calls == (ToolCall("", "list_all", "{}"),)
    assert "tool_call_without_arguments" in recovered.repairs


@pytest.mark.slow
def test_a_model_that_loops_on_the_tag_is_read_in_linear_time() -> None:
    read_calls("<tool_call>" * 50_000)
    read_calls("<tool_call>{" * 20_000 + "</tool_call>")
