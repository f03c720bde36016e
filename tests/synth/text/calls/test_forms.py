"""Every form in which families of models write calls is read, with text around it, after thinking,
several times in one reply, and whatever stands in its arguments.
"""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.models.replies.tool_call_recovery import read_apart, with_recovered_calls
from synth.schemas.model import Completion
from synth.text.calls.reading import MARKS, read_calls
from tests.synth.text.calls.written import FORMS, JSON_FORMS, TOOLS, Write

HARD = {
    "city": 'Os"lo }{ é 日本 \\',
    "days": 3,
    "options": {"a": [1, {"b": None, "c": True}], "t": "x\ny <think> [TOOL_CALLS] ``` </s>"},
}
SOFT = {"query": "it's; [a] (b)"}
SAID = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | SAID,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SAID, inner, max_size=3),
    max_leaves=6,
)


def reply(text: str) -> Completion:
    """What is made of a reply with this text and without any call."""
    return read_apart(with_recovered_calls(Completion(content=text), [], TOOLS), TOOLS)


def made(completion: Completion) -> list[tuple[str, Any]]:
    return [(call.name, call.parsed()) for call in completion.tool_calls]


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Write:
    return FORMS[request.param]


def test_a_call_is_read_and_nothing_of_it_stays_in_the_text(form: Write) -> None:
    read = reply(form("get_weather", HARD))
    assert made(read) == [("get_weather", HARD)]
    assert read.content in (None, "It is time to look.")
    assert not {"tool_call_unread", "tool_call_markup_in_text"} & set(read.repairs)


def test_text_around_calls_stays_and_the_call_does_not(form: Write) -> None:
    read = reply(f"Let me look.\n\n{form('get_weather', HARD)}\nThen I will tell.")
    assert made(read) == [("get_weather", HARD)]
    said = (read.content or "").replace("It is time to look.", "").replace("analysisI look.", "")
    assert said.split() == ["Let", "me", "look.", "Then", "I", "will", "tell."]


def test_a_call_after_thinking_is_read_and_the_thinking_is_apart(form: Write) -> None:
    read = reply(f"<think>\nget_weather it is\n</think>\n\n{form('get_weather', HARD)}")
    assert made(read) == [("get_weather", HARD)]
    assert (read.thought or "").startswith("get_weather it is")


def test_several_calls_are_read_in_order(form: Write) -> None:
    read = reply(f"{form('get_weather', HARD)}\n{form('search', SOFT)}")
    assert made(read) == [("get_weather", HARD), ("search", SOFT)]


def test_a_call_without_arguments_is_read(form: Write) -> None:
    assert made(reply(form("list_all", {}))) == [("list_all", {})]


@pytest.mark.slow
def test_a_call_that_is_cut_off_is_no_call_wherever_it_is_cut(form: Write) -> None:
    """Only what lacks nothing but its closing marks is a call, and then with its own arguments."""
    text = form("get_weather", HARD)
    for end in range(1, len(text)):
        read = reply(text[:end])
        assert made(read) in ([], [("get_weather", HARD)]), text[:end]


def test_a_call_that_is_cut_off_in_its_arguments_is_told(form: Write) -> None:
    text = form("get_weather", HARD)
    at = text.index("日本")
    assert "tool_call_unread" in reply(text[:at]).repairs


@pytest.mark.slow
@given(st.sampled_from(sorted(JSON_FORMS)), st.dictionaries(SAID, VALUES, max_size=3))
def test_arguments_come_back_whatever_they_are(name: str, arguments: dict[str, Any]) -> None:
    keywords = {f"k{at}": value for at, value in enumerate(arguments.values())}
    given_ = (
        keywords
        if name in ("pythonic", "pythonic_tokens", "gemma", "gemma_printed", "python_tag_call")
        else (arguments)
    )
    text = JSON_FORMS[name]("get_weather", given_)
    assert made(reply(text)) == [("get_weather", given_)]


@pytest.mark.slow
@given(
    st.lists(
        st.sampled_from(
            [form("get_weather", SOFT)[:size] for form in FORMS.values() for size in (9, 30, 999)]
            + ["<think>", "</think>", "```", "\n", "Action:", "{", "]", '"', "[TOOL_CALLS]"]
        )
        | st.text(max_size=4),
        max_size=12,
    ).map("".join)
)
def test_whatever_is_written_nothing_is_raised_and_only_marked_calls_may_name_no_tool(
    text: str,
) -> None:
    read = reply(text)
    names = {call.name for call in read.tool_calls}
    known = {"get_weather", "search", "list_all"}
    assert names <= known or MARKS.search(text) or "to=" in text


def test_arguments_as_a_text_are_read_where_the_tool_is_known() -> None:
    for text in (
        '{"name": "search", "arguments": "{\\"query\\": \\"a\\"}"}',
        '<tool_call>{"name": "search", "arguments": "{\\"query\\": \\"a\\"}"}</tool_call>',
        '[TOOL_CALLS] [{"name": "search", "arguments": "{\\"query\\": \\"a\\"}"}]',
        'Action: search\nAction Input: "a"',
        "Action: search\nAction Input: a",
        "Action 1: search[a]",
        "Action: `search`\nAction Input: a",
        'Action: search({"query": "a"})',
        '<|start_header_id|>assistant<|end_header_id|>\n\n{"name": "search", "parameters": '
        '{"query": "a"}}<|eot_id|>',
    ):
        read = reply(text)
        assert (made(read), read.content) == ([("search", {"query": "a"})], None), text


def test_json_may_begin_or_end_the_reply_but_not_stand_amid_a_sentence() -> None:
    call = '{"name": "search", "parameters": {"query": "a"}}'
    for text, said in (
        (f"Sure, here it is: {call}", "Sure, here it is:"),
        (f"I will look. {call}\n", "I will look."),
        (f"{call} I will wait.", "I will wait."),
    ):
        read = reply(text)
        assert (made(read), read.content) == ([("search", {"query": "a"})], said)
    assert reply(f"Send it as: {call} if you like.").tool_calls == ()


def test_llamas_calls_may_be_set_apart_by_semicolons() -> None:
    text = (
        '<|python_tag|>{"name": "search", "parameters": {"query": "a"}}; '
        '{"name": "list_all", "parameters": {}}'
    )
    assert made(reply(text)) == [("search", {"query": "a"}), ("list_all", {})]


def test_several_calls_of_one_python_list_are_several() -> None:
    text = "[search(query='a'), get_weather(city='Oslo', options={'deep': true, 'n': null})]"
    assert made(reply(text)) == [
        ("search", {"query": "a"}),
        ("get_weather", {"city": "Oslo", "options": {"deep": True, "n": None}}),
    ]


def test_python_arguments_by_place_are_the_agents_error() -> None:
    (call,) = reply('[search("a")]').tool_calls
    assert call.name == "search"
    assert "given by place" in (call.parse_error or "")


def test_code_behind_llamas_token_goes_to_the_tool_that_runs_code() -> None:
    runs = {"name": "code_interpreter", "parameters": {"properties": {"code": {"type": "string"}}}}
    tools = [{"type": "function", "function": runs}]
    code = "import math\nprint(math.pi)"
    found = read_calls(f"<|python_tag|>{code}<|eom_id|>", tools)
    assert [(call.name, call.parsed()) for call in found.calls] == [
        ("code_interpreter", {"code": code})
    ]


def test_what_a_model_makes_up_behind_observation_is_not_its_text() -> None:
    text = "Thought: Look.\nAction: search\nAction Input: a\nObservation: 42\nFinal Answer: 42"
    read = reply(text)
    assert (made(read), read.content) == ([("search", {"query": "a"})], "Look.")
    assert "tool_call_result_invented" in read.repairs


def test_channels_of_harmony_are_thinking_and_text() -> None:
    read = reply(
        "<|channel|>analysis<|message|>Simple.<|end|><|start|>assistant<|channel|>commentary"
        "<|message|>I will look.<|end|><|start|>assistant<|channel|>final<|message|>It rains."
        "<|return|>"
    )
    assert (read.thought, read.content, read.tool_calls) == (
        "Simple.",
        "I will look.\nIt rains.",
        (),
    )


def test_broken_arguments_of_a_named_call_are_the_agents_error() -> None:
    for text in (
        "[TOOL_CALLS]search[ARGS]{query: 1}",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{query: 1}<｜tool▁call▁end｜>",
        "<|channel|>commentary to=functions.search<|message|>{query: 1}<|call|>",
        "Action: search\nAction Input: {query: 1}\nObservation:",
        '<tool_call>{"name": "search", "arguments": {query: 1}}</tool_call>',
        "<tool_call>{'name': 'search', 'arguments': {'query': 'a'}}</tool_call>",
        '<tool_call>{"name": search, "arguments": {"query": "a"}}</tool_call>',
        "<tool_call>search\n<arg_key>query</arg_key>\n1</tool_call>",
    ):
        (call,) = reply(text).tool_calls
        assert (call.name, call.parse_error is not None) == ("search", True), text


def test_a_name_behind_a_namespace_is_the_tools() -> None:
    assert made(reply(json.dumps({"name": "functions.list_all", "arguments": {}}))) == [
        ("list_all", {})
    ]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_model_that_loops_on_a_form_is_read_in_linear_time(form: str) -> None:
    """A reply of 16,000 tokens is read in well under a second; where time grew with the square of
    the length, lists of JSON took 14 s at 2,000 repeats.
    """
    text = FORMS[form]("search", {"query": "a"})
    for size in (6, 12, 18, 30, 60, len(text)):
        for loop in (text[:size] * 2_000, f"{text[:size]}\n" * 2_000):
            began = time.perf_counter()
            reply(loop)
            assert time.perf_counter() - began < 5


@pytest.mark.parametrize("said", ["Action: find[Paris]", "Action: find\nAction Input: Paris\n"])
@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"properties": {"city": {}}}, '{"city": "Paris"}'),
        ({"properties": {"city": {}, "days": {}}, "required": ["city"]}, '{"city": "Paris"}'),
        ({"properties": {"city": {}, "days": {}}, "required": ["city", "days"]}, "Paris"),
        ({"properties": {"city": {}, "days": {}}}, "Paris"),
    ],
    ids=["only one", "only one required", "two required", "none required"],
)
def test_a_bare_text_is_the_parameter_that_a_tool_cannot_do_without(
    said: str, parameters: dict[str, Any], expected: str
) -> None:
    tools = ({"type": "function", "function": {"name": "find", "parameters": parameters}},)
    (call,) = read_calls(said, tools).calls
    assert (call.name, call.arguments) == ("find", expected)
