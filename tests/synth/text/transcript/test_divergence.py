"""Where two trajectories part."""

import msgspec
import pytest

from synth.envs.echo import WORLD, make_tasks
from synth.schemas.trajectory import Observation, ToolCall
from synth.text.transcript.divergence import Parting, first_divergence
from tests.synth.recording import recorded

CONFIG = {"turns": 3}
(TASK,) = make_tasks(CONFIG, 1, 1)
A = recorded(WORLD, CONFIG, TASK, trial=1)
replaced = msgspec.structs.replace


def with_turn(index, **changes):
    turns = list(A.turns)
    turns[index] = replaced(turns[index], **changes)
    return replaced(A, turns=tuple(turns))


def call(arguments, name="echo"):
    return (ToolCall.received("other", name, arguments),)


def test_two_executions_of_the_same_do_not_part():
    assert (
        first_divergence(
            A, replaced(recorded(WORLD, CONFIG, TASK, trial=1), trajectory_id="b", trial=5)
        )
        is None
    )


@pytest.mark.parametrize(
    ("b", "turn", "what"),
    [
        (with_turn(1, tool_calls=call('{"text": "other"}')), 1, Parting.ACTION),
        (
            with_turn(1, tool_calls=call(A.turns[1].tool_calls[0].arguments, "finish")),
            1,
            Parting.ACTION,
        ),
        (with_turn(1, tool_calls=call("{")), 1, Parting.ACTION),
        (with_turn(1, tool_calls=A.turns[1].tool_calls * 2), 1, Parting.ACTION),
        (with_turn(1, content="Now the second."), 1, Parting.ACTION),
        (with_turn(2, observations=()), 2, Parting.OBSERVATION),
        (
            with_turn(2, observations=(replaced(A.turns[2].observations[0], error=True),)),
            2,
            Parting.OBSERVATION,
        ),
        (with_turn(2, state_key="k"), 2, Parting.STATE),
        (replaced(A, turns=A.turns[:2]), 2, Parting.END),
        (replaced(A, opening=(Observation("Hi."),)), None, Parting.OPENING),
        (replaced(A, system_prompt=None), None, Parting.OPENING),
        (replaced(A, tools=()), None, Parting.OPENING),
        (replaced(A, opening_state_key="k"), None, Parting.STATE),
    ],
)
def test_the_first_difference_is_named_from_either_side(b, turn, what):
    there, back = first_divergence(A, b), first_divergence(b, A)
    assert (there.turn, there.what) == (back.turn, back.what) == (turn, what)
    assert (there.left, there.right) == (back.right, back.left)
    assert there.left != there.right


def test_of_several_differences_the_first_counts_and_actions_come_before_their_answers():
    first = with_turn(1, content="Now.", observations=(), state_key="k")
    assert first_divergence(A, replaced(first, turns=first.turns[:3])).what is Parting.ACTION


@pytest.mark.parametrize(
    "same",
    [
        with_turn(0, tool_calls=tuple(replaced(c, call_id="x") for c in A.turns[0].tool_calls)),
        with_turn(0, thought="I echo."),
        with_turn(0, observations=tuple(replaced(o, call_id="x") for o in A.turns[0].observations)),
        with_turn(0, tool_calls=call(A.turns[0].tool_calls[0].arguments.replace(":", " : "))),
    ],
    ids=["call ids", "thoughts", "call ids of answers", "white space in arguments"],
)
def test_what_the_world_never_sees_is_no_parting(same):
    assert first_divergence(A, same) is None


def test_both_sides_are_shown_as_plain_data():
    parting = first_divergence(A, with_turn(1, tool_calls=call('{"text": "other"}')))
    assert parting.right == {
        "content": None,
        "tool_calls": [{"name": "echo", "arguments": {"text": "other"}}],
    }
