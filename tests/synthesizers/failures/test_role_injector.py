"""What the role `injector` may answer: a turn that differs, can be done, and does not give itself
away; anything else is asked again.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.engine.asking import UnreadableError
from synth.schemas.model import Completion
from synth.synthesizers.failures.roles import read_mistake
from tests.synthesizers.failures.twins import site

CANCEL_OTHER = {"name": "cancel_order", "arguments": {"order_id": "O-2", "reason": "mistake"}}


def reply(**fields: Any) -> str:
    return json.dumps(
        {
            "content": None,
            "tool_calls": [CANCEL_OTHER],
            "description": "cancels another order",
            **fields,
        }
    )


def read(text: str | None, at: int = 4) -> Any:
    return read_mistake(Completion(content=text), site(at))


@pytest.mark.parametrize("wrapped", ["{}", "```json\n{}\n```", "Here it is: {} Good luck."])
def test_the_turn_is_read_from_the_json_also_where_words_stand_around_it(wrapped: str) -> None:
    mistake = read(wrapped.replace("{}", reply()))
    (call,) = mistake.turn.tool_calls
    assert (call.name, call.parsed()) == ("cancel_order", {"order_id": "O-2", "reason": "mistake"})
    assert mistake.what == "cancels another order"


RECORDED = {"name": "cancel_order", "arguments": {"reason": "mistake", "order_id": "O-1"}}
BAD = {
    "nothing": (None, "no JSON"),
    "no_json": ("I would rather not.", "no JSON"),
    "broken_json": ('{"tool_calls": [', "no JSON|not the JSON"),
    "another_form": ('{"turn": "x", "description": ""}', "not the JSON"),
    "wrong_type": (reply(tool_calls="cancel"), "not the JSON"),
    "no_description": ('{"content": "x"}', "not the JSON"),
    "empty_turn": (reply(tool_calls=[], content="  "), "says nothing"),
    "unknown_tool": (
        reply(tool_calls=[{"name": "delete_all", "arguments": {}}]),
        "no tool 'delete_all'",
    ),
    "unknown_argument": (
        reply(
            tool_calls=[{**CANCEL_OTHER, "arguments": {**CANCEL_OTHER["arguments"], "force": True}}]
        ),
        "no argument",
    ),
    "missing_argument": (
        reply(tool_calls=[{"name": "cancel_order", "arguments": {"order_id": "O-2"}}]),
        "lacks its argument",
    ),
    "the_recorded_turn": (reply(tool_calls=[RECORDED]), "recorded one"),
    "gives_itself_away": (reply(content="I deliberately make a mistake here."), "gives away"),
    "names_the_mode": (reply(content="As FM-1.1 says, I cancel O-2."), "gives away"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_reply_is_refused_with_its_reason_and_never_becomes_the_recorded_turn(
    kind: str,
) -> None:
    text, why = BAD[kind]
    with pytest.raises(UnreadableError, match=why):
        read(text)


@given(
    st.text(max_size=60) | st.text(max_size=30).map(lambda text: reply(content=text, tool_calls=[]))
)
def test_any_text_is_a_turn_that_differs_or_unreadable(text: str) -> None:
    try:
        mistake = read(text)
    except UnreadableError:
        return
    assert mistake.turn.content
