"""Where a success is played again from: before the first change that it made."""

from synth.engine.study.arms import unsettled
from synth.engine.study.effects.effect import Side
from synth.engine.study.episodes import Continuation
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Observation, SampledBy, Turn
from synth.success_evidence import PASSES
from synth.synthesizers.lucky_pass import first_effect, passes_of
from tests.synth.topology.trials import trial, turn


def test_the_first_turn_after_which_the_world_is_in_another_state() -> None:
    turns = [
        turn(0, "delete_note", state="a"),
        turn(1, "get_order", state="b"),
        turn(2, "get_order", state="c"),
    ]
    assert first_effect(trial("T", turns, True, opening_state_key="a")) == 1


def test_without_states_the_first_effectful_call_that_was_not_refused() -> None:
    refused = Turn(
        1,
        tool_calls=turn(1, "cancel_order").tool_calls,
        observations=(Observation("no", call_id="c1", error=True),),
    )
    assert (
        first_effect(trial("T", [turn(0, "get_order"), refused, turn(2, "cancel_order")], True))
        == 2
    )


def test_where_nothing_was_changed_the_first_turn_of_the_policy() -> None:
    greeting = Turn(0, "Hello", sampled_by=SampledBy.CANNED)
    assert first_effect(trial("T", [greeting, turn(1, "get_order")], True)) == 1


def continuations(letters: str) -> list[Continuation]:
    kinds = {
        "p": Continuation("id", Outcome.SUCCESS),
        "f": Continuation("id", Outcome.FAILURE),
        "t": Continuation("id", Outcome.TRUNCATED),
        "d": Continuation(fault="drift"),
        "m": Continuation(fault="model"),
    }
    return [kinds[letter] for letter in letters]


def test_two_passes_of_four_count_and_what_was_lost_is_no_failure() -> None:
    found = {
        letters: Side(tuple(continuations(letters)))
        for letters in ("pp", "ffpp", "ffpf", "pttt", "pdff", "pmff", "dfff")
    }
    assert {letters: passes_of(one) for letters, one in found.items()} == {
        "pp": 2,
        "ffpp": 2,
        "ffpf": 1,
        "pttt": 1,
        "pdff": None,
        "pmff": None,
        "dfff": 0,
    }
    assert [letters for letters, one in found.items() if unsettled(one, PASSES)] == ["pmff"], (
        "a server's fault is tried again, drift is not"
    )
