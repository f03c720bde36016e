"""Messages at the edges: results without a call, several agents, legacy calls, lone surrogates,
greetings.
"""

from synth.schemas.text.conversation import from_messages
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import Observation, Source, ToolCall, Turn
from tests.schemas.conversations import read_one, trajectory


def test_results_that_answer_no_call_are_counted() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    read = read_one(
        {"role": "tool", "tool_call_id": "before", "content": ""},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "other", "content": ""},
        {"role": "assistant", "content": "later"},
        {"role": "tool", "tool_call_id": "c", "content": "late but linked"},
    )
    assert read.unresolved == 2


def test_the_world_and_a_system_message_in_mid_conversation_are_observations() -> None:
    read = read_one(
        {"role": "developer", "content": "S"},
        {"role": "user", "name": "environment", "content": "You are in a room."},
        {"role": "assistant", "content": "look"},
        {"role": "system", "content": "Two turns are left."},
    )
    assert read.system_prompt == "S"
    assert read.opening == (Observation("You are in a room.", Source.ENVIRONMENT),)
    assert read.turns[0].observations == (
        Observation("Two turns are left.", Source.ENVIRONMENT, name="system"),
    )


def test_several_agents_keep_their_names() -> None:
    messages = [
        {"role": "user", "content": "solve it"},
        {"role": "assistant", "content": "plan", "name": "Planner"},
        {"role": "assistant", "content": "code", "name": "Coder"},
    ]
    read = from_messages(messages)
    assert [t.agent for t in read.turns] == ["Planner", "Coder"]
    assert to_messages(trajectory(None, read.opening, read.turns)) == messages


def test_error_marks_and_raw_replies_are_not_shown_to_a_model() -> None:
    turn = Turn(
        index=0,
        content="x",
        raw="<raw>",
        observations=(Observation("no such order", call_id="c", error=True),),
    )
    assert [sorted(m) for m in to_messages(trajectory(turns=(turn,)))] == [
        ["content", "role"],
        ["content", "role", "tool_call_id"],
    ]
    assert read_one({"role": "user", "content": "?", "error": True}).opening[0].error


def test_the_legacy_function_call_is_a_call() -> None:
    (turn,) = read_one(
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    ).turns
    assert turn.tool_calls == (ToolCall("call_0_0", "f", "{}"),)


def test_lone_surrogates_become_replacement_characters() -> None:
    read = read_one(
        {"role": "user", "content": "a\ud800b"}, {"role": "assistant", "content": "\udfff 😀"}
    )
    assert (read.opening[0].content, read.turns[0].content) == ("a\ufffdb", "\ufffd 😀")


def test_two_greetings_before_anybody_spoke_are_both_canned() -> None:
    read = read_one(
        {"role": "assistant", "content": "Hi!"},
        {"role": "assistant", "content": "I am Bob."},
        {"role": "user", "content": "I need"},
        {"role": "assistant", "content": "What?"},
    )
    assert [turn.mask for turn in read.turns] == ["canned_greeting", "canned_greeting", None]
