"""Messages <-> trajectory, in both directions, on everything that a model can see."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.schemas.environment import Opening
from synth.schemas.model import Message
from synth.schemas.text.conversation import from_messages
from synth.schemas.text.messages import greeting_turn, to_messages, view_messages
from synth.schemas.trajectory import Observation, SampledBy, Source, Turn
from tests.schemas.conversations import (
    arguments,
    loose_observation,
    name,
    read_one,
    text,
    trajectory,
    turns,
)

openings = st.lists(loose_observation, max_size=2).map(tuple)


def visible(turns: tuple[Turn, ...]) -> list[Any]:
    """What a model can see of turns."""
    return [(t.index, t.content, t.tool_calls, t.observations, t.thought, t.agent) for t in turns]


@pytest.mark.slow
@given(st.none() | text, openings, turns())
def test_a_trajectory_comes_back_from_its_messages_in_all_that_a_model_can_see(
    system: str | None, opening: tuple[Observation, ...], drawn: tuple[Turn, ...]
) -> None:
    if system is None and opening and opening[0].name == "system":
        system = ""
    read = from_messages(to_messages(trajectory(system, opening, drawn)))
    assert read.system_prompt == system
    assert read.opening == opening
    assert visible(read.turns) == visible(drawn)


call_message = st.builds(
    lambda i, n, a: {"id": i, "type": "function", "function": {"name": n, "arguments": a}},
    name,
    name,
    arguments,
)


def _with(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[Message]:
    return st.fixed_dictionaries(required, optional=optional)


canonical_message: st.SearchStrategy[Message] = st.one_of(
    _with(
        {"role": st.just("assistant"), "content": st.none() | text},
        {
            "name": name,
            "reasoning_content": text,
            "tool_calls": st.lists(call_message, min_size=1, max_size=3),
        },
    ),
    _with({"role": st.just("user"), "content": text}, {"name": name | st.just("environment")}),
    _with({"role": st.just("tool"), "content": text, "tool_call_id": name}, {"name": name}),
    _with({"role": st.just("system"), "content": text}, {}),
)


@given(st.lists(canonical_message, max_size=8))
def test_canonical_messages_come_back_as_they_were(messages: list[Message]) -> None:
    read = from_messages(messages)
    assert to_messages(trajectory(read.system_prompt, read.opening, read.turns)) == messages


@pytest.mark.slow
@given(st.lists(canonical_message, max_size=8))
def test_what_is_shown_live_is_what_is_recorded(messages: list[Message]) -> None:
    read = from_messages(messages)
    opening = Opening(read.system_prompt, (), read.opening)
    assert view_messages(opening, read.turns, thoughts=True) == messages
    without = [{k: v for k, v in m.items() if k != "reasoning_content"} for m in messages]
    assert view_messages(opening, read.turns) == without


def test_several_calls_and_text_stand_in_one_turn_with_their_results() -> None:
    calls = [
        {"id": i, "type": "function", "function": {"name": n, "arguments": "{}"}}
        for i, n in (("a", "f"), ("b", "g"))
    ]
    read = read_one(
        {"role": "user", "content": "both, please"},
        {"role": "assistant", "content": "Looking.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "tool", "tool_call_id": "a", "content": ""},
        {"role": "user", "content": "and?"},
    )
    (turn,) = read.turns
    assert (turn.content, [c.name for c in turn.tool_calls]) == ("Looking.", ["f", "g"])
    assert [(o.source, o.call_id, o.content) for o in turn.observations] == [
        (Source.TOOL, "b", "2"),
        (Source.TOOL, "a", ""),
        (Source.USER, None, "and?"),
    ]
    assert read.unresolved == 0


def test_consecutive_assistant_messages_are_separate_turns() -> None:
    read = read_one(
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": "b"},
    )
    assert [(t.index, t.content, t.observations) for t in read.turns] == [
        (0, "a", ()),
        (1, "b", ()),
    ]


def test_null_and_empty_content_stay_apart() -> None:
    read = read_one(
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": ""},
    )
    assert [t.content for t in read.turns] == [None, ""]


def test_broken_arguments_are_kept_to_the_byte_and_the_error_is_computed_anew() -> None:
    call = {
        "id": "c",
        "type": "function",
        "parse_error": "a lie",
        "function": {"name": "f", "arguments": '{"a": 1,, "ü"}'},
    }
    (turn,) = read_one({"role": "assistant", "content": None, "tool_calls": [call]}).turns
    assert turn.tool_calls[0].arguments == '{"a": 1,, "ü"}'
    assert "not a JSON object" in str(turn.tool_calls[0].parse_error)


@pytest.mark.parametrize(
    ("given_arguments", "text"),
    [
        ({"b": 1, "a": "é"}, '{"b": 1, "a": "é"}'),
        (None, "{}"),
        ({}, "{}"),
        ("", ""),
        ("null", "null"),
    ],
)
def test_arguments_that_a_source_parsed_become_json_text_in_their_own_order(
    given_arguments: Any, text: str
) -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": given_arguments}}
    (turn,) = read_one({"role": "assistant", "tool_calls": [call]}).turns
    assert turn.tool_calls[0].arguments == text


def test_a_greeting_before_anybody_spoke_is_canned_and_masked() -> None:
    read = read_one(
        {"role": "system", "content": "S"},
        {"role": "assistant", "content": "Hi!"},
        {"role": "user", "content": "I need"},
    )
    assert (read.turns[0].sampled_by, read.turns[0].mask) == (SampledBy.CANNED, "canned_greeting")


def test_an_answer_to_a_system_prompt_alone_is_no_greeting() -> None:
    read = read_one(
        {"role": "system", "content": "Write a poem."}, {"role": "assistant", "content": "Roses"}
    )
    assert (read.turns[0].sampled_by, read.turns[0].mask) == (SampledBy.POLICY, None)


def test_a_first_message_with_calls_is_no_greeting() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    read = read_one(
        {"role": "assistant", "content": "Hi", "tool_calls": [call]},
        {"role": "user", "content": "?"},
    )
    assert read.turns[0].mask is None


def test_the_opening_greeting_is_shown_once_whether_or_not_it_is_recorded_as_a_turn() -> None:
    opening = Opening("S", (), (Observation("I need help", Source.USER),), greeting="Hi!")
    expected = [
        {"role": "system", "content": "S"},
        {"role": "assistant", "content": "Hi!"},
        {"role": "user", "content": "I need help"},
    ]
    recorded = greeting_turn(opening)
    assert recorded is not None
    assert view_messages(opening, ()) == expected
    assert view_messages(opening, (recorded,)) == expected
    assert to_messages(trajectory("S", (), (recorded,))) == expected


def test_missing_ids_are_given_by_order_and_results_follow_them() -> None:
    calls = [{"function": {"name": n, "arguments": "{}"}} for n in ("f", "g", "f")]
    read = read_one(
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "content": "first"},
        {"role": "tool", "name": "f", "content": "third"},
        {"role": "function", "name": "g", "content": "second"},
        {"role": "tool", "content": "one too many"},
    )
    turn = read.turns[1]
    assert [c.call_id for c in turn.tool_calls] == ["call_1_0", "call_1_1", "call_1_2"]
    assert [(o.content, o.call_id) for o in turn.observations] == [
        ("first", "call_1_0"),
        ("third", "call_1_2"),
        ("second", "call_1_1"),
        ("one too many", None),
    ]
    assert read.unresolved == 1
