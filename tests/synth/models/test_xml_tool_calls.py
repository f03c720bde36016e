"""Calls in Qwen3-Coder's form, rendered here as its template writes them, and what is made of them
where they are not whole.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.models.replies.tool_call_recovery import with_recovered_calls
from synth.schemas.model import Completion
from synth.schemas.trajectory import ToolCall
from synth.text.calls.reading import read_calls
from tests.synth.models.xml_calls import PAY, found, tool, written

PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<"))


NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters="<>"),
    min_size=1,
    max_size=8,
)


VALUES = {
    "string": PLAIN,
    "integer": st.integers(-(2**63), 2**64 - 1),
    "boolean": st.booleans(),
    "array": st.lists(st.integers(0, 9) | PLAIN | st.none()),
    "object": st.dictionaries(PLAIN, st.booleans() | PLAIN, max_size=3),
}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """(name, arguments, tool) with arguments of the tool's schema."""
    kinds = draw(st.dictionaries(NAMES, st.sampled_from(sorted(VALUES)), max_size=3))
    name = draw(NAMES)
    return (
        name,
        {key: draw(VALUES[kind]) for key, kind in kinds.items()},
        tool(name, **{key: {"type": kind} for key, kind in kinds.items()}),
    )


@pytest.mark.slow
@given(st.lists(calls(), min_size=1, max_size=3, unique_by=lambda call: call[0]), PLAIN, PLAIN)
def test_calls_as_the_template_writes_them_are_recovered_with_their_types(
    made: list[tuple[str, dict[str, Any], dict[str, Any]]], before: str, after: str
) -> None:
    text = before + "\n".join(written(name, arguments) for name, arguments, _ in made) + after
    recovered = read_calls(text, [schema for _, _, schema in made])
    assert [(call.name, call.parsed()) for call in recovered.calls] == [
        (name, arguments) for name, arguments, _ in made
    ]
    assert recovered.repairs == ("tool_call_recovered", "tool_call_xml")
    assert "".join(recovered.text.split()) == "".join((before + after).split())


TAGS = [
    "<tool_call>",
    "</tool_call>",
    "<function=pay>",
    "<function=",
    "</function>",
    "<parameter=sum>",
    "<parameter=",
    "</parameter>",
]


PIECES = st.lists(
    st.sampled_from([*TAGS, "<think>", "</think>", '{"name": "f"}', "1", "\n", ">"])
    | st.text(max_size=4),
    max_size=24,
).map("".join)


@given(PIECES)
def test_whatever_is_written_nothing_is_raised_and_no_arguments_are_both_whole_and_no_object(
    text: str,
) -> None:
    for call in read_calls(text, [PAY]).calls:
        assert (
            call == ToolCall.received("", call.name, call.arguments) or call.parse_error is not None
        )
    with_recovered_calls(Completion(content=text, thought=text), [], [PAY])


@pytest.mark.slow
@given(calls(), st.data())
def test_a_call_that_is_cut_off_anywhere_stays_text(
    made: tuple[str, dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    name, arguments, schema = made
    whole = written(name, arguments)
    text = whole[: data.draw(st.integers(0, whole.rindex("</function>") + len("</function>") - 1))]
    assert (read_calls(text, [schema]).calls, read_calls(text, [schema]).text) == (
        (),
        text,
    )


def test_values_keep_their_inner_newlines_and_lose_the_templates() -> None:
    assert found(
        "<tool_call><function=pay><parameter=to>\n\na\n b \n\n</parameter></function></tool_call>",
        PAY,
    ) == [("pay", {"to": "\na\n b \n"})]


def test_without_a_schema_values_are_strings() -> None:
    assert found(written("other", {"sum": 1, "urgent": True}), PAY) == [
        ("other", {"sum": "1", "urgent": "True"})
    ]
    assert found(written("pay", {"unheard_of": 1}), PAY) == [("pay", {"unheard_of": "1"})]


def test_of_two_parameters_with_one_name_the_later_counts() -> None:
    assert found(
        "<tool_call><function=pay><parameter=sum>1</parameter><parameter=sum>2</parameter>"
        "</function></tool_call>",
        PAY,
    ) == [("pay", {"sum": 2})]


@pytest.mark.parametrize(
    "inside",
    [
        "<function=pay><parameter=sum>1<parameter=to>x</parameter></function>",
        "<function=pay><parameter=sum>1</parameter><parameter=to>x</function>",
        "<function=pay><parameter=sum>1</parameter><parameter=to>x</parameter>",
    ],
)
def test_what_is_not_closed_ends_where_the_next_begins_and_that_is_counted(inside: str) -> None:
    recovered = read_calls(f"<tool_call>{inside}</tool_call> bye", [PAY])
    assert [call.parsed() for call in recovered.calls] == [{"sum": 1, "to": "x"}]
    assert (recovered.text, recovered.repairs) == (
        "bye",
        ("tool_call_recovered", "tool_call_xml", "tool_call_unclosed"),
    )


@pytest.mark.parametrize(
    "value",
    [
        "write </tool_call> here",
        "<tool_call>",
        "<function=pay>",
        "</tool_call><tool_call>",
        "a < b > c",
    ],
)
def test_a_value_that_is_closed_may_hold_the_tags_around_calls(value: str) -> None:
    assert found(written("pay", {"to": value}) + written("pay", {"sum": 1}), PAY) == [
        ("pay", {"to": value}),
        ("pay", {"sum": 1}),
    ]


def test_a_value_does_not_run_into_the_next_call() -> None:
    cut = "<tool_call><function=pay><parameter=sum>1"
    recovered = read_calls(cut + written("pay", {"to": "x"}), [PAY])
    assert [call.parsed() for call in recovered.calls] == [{"to": "x"}]
    assert recovered.text == cut


@pytest.mark.parametrize(
    "inside",
    [
        "<function=pay><parameter=to>say </parameter> to me</parameter></function>",
        "<function=pay><parameter=to>def </function> end</parameter></function>",
        "<function=pay>sum: 1</function>",
        "<function=pay><parameter=sum>1</parameter><parameter=to>x",
    ],
)
def test_a_call_whose_tags_do_not_fit_stays_the_agents_error_as_it_was_written(inside: str) -> None:
    recovered = read_calls(f"so <tool_call>\n{inside}\n</tool_call>", [PAY])
    (call,) = recovered.calls
    assert (call.name, call.arguments, recovered.text) == ("pay", inside, "so")
    assert call.parse_error is not None
    assert recovered.repairs == ("tool_call_recovered", "tool_call_xml", "tool_call_broken_xml")


def test_two_functions_in_one_tag_are_two_calls_and_text_after_them_is_kept() -> None:
    text = (
        "<tool_call><function=pay><parameter=sum>1</parameter></function>\n"
        "<function=pay></function> as agreed </tool_call>"
    )
    recovered = read_calls(text, [PAY])
    assert [call.parsed() for call in recovered.calls] == [{"sum": 1}, {}]
    assert (recovered.text, recovered.repairs[1:]) == (
        "as agreed",
        ("tool_call_xml", "tool_call_extra_data"),
    )


def test_a_function_outside_a_tag_is_a_call_where_it_names_a_tool_and_is_closed() -> None:
    bare = "<function=pay>\n<parameter=sum>\n1\n</parameter>\n</function>"
    for text in (bare, f"{bare}\n</tool_call>"):
        recovered = read_calls(f"now\n{text}", [PAY])
        assert [call.parsed() for call in recovered.calls] == [{"sum": 1}]
        assert (recovered.text, recovered.repairs) == (
            "now",
            ("tool_call_recovered", "tool_call_xml", "tool_call_xml_untagged"),
        )
    for text, tools in (
        (bare, ()),
        (bare.replace("pay", "talk"), (PAY,)),
        (bare.removesuffix("</function>"), (PAY,)),
    ):
        assert (read_calls(text, tools).calls, read_calls(text, tools).text) == (
            (),
            text,
        )
