"""Which steps are proposed, and which other acts there are: rules over what was recorded."""

from typing import Any

from msgspec.structs import replace

from synth.engine.study.alternatives import Proposal, merged
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import Authorship, Observation, SampledBy, ToolCall, Trajectory, Turn
from synth.synthesizers.suggested_steps import proposed
from synth.text.transcript.acts import act_digest
from tests.trajectories import make_trajectory, make_turn


def trial(*keys: str, errors: tuple[int, ...] = (), **changes: Any) -> Trajectory:
    """A trial through states; turns in `errors` were refused."""

    def turn(index: int, key: str) -> Turn:
        seen = (Observation("no", error=True),) if index in errors else (Observation("yes"),)
        return make_turn(index, state_key=key, observations=seen)

    turns = tuple(turn(i, key) for i, key in enumerate(keys))
    return replace(make_trajectory(turns=0, opening_state_key="start", **changes), turns=turns)


def rules(trajectory: Trajectory, *successes: Trajectory, most: int = 100) -> list[tuple[int, str]]:
    return list(proposed(trajectory, successes, most).items())


def test_effects_come_first_from_the_end_then_the_departure_errors_and_the_last_turn() -> None:
    failed = trial("a", "a", "x", "y", "y", "y", errors=(1, 4))
    won = trial("a", "b", "c")
    assert rules(failed, won) == [
        (3, "effect"),
        (2, "departure"),
        (1, "error"),
        (5, "last"),
        (4, "error"),
        (0, "effect"),
    ]


def test_one_turn_of_each_rule_comes_before_the_second_of_any() -> None:
    failed = trial("a", "b", "c", "d", "d", errors=(4,))
    assert rules(failed, most=3) == [(3, "effect"), (4, "error"), (2, "effect")]


def test_the_pivots_of_retries_that_passed_come_before_the_rules() -> None:
    failed = trial("a", "b", "c")
    found = proposed(failed, (), 3, pivots=[0, 9])
    assert list(found.items()) == [(0, "retry"), (2, "effect"), (1, "effect")], "there is no turn 9"


def test_only_rules_that_are_heard_propose_in_the_order_that_is_given() -> None:
    failed = trial("a", "b", "c", "c", errors=(3,))
    only = proposed(failed, (), 9, suspected=(0,), pivots=[1], heard=["effect"])
    assert only == {2: "effect", 1: "effect", 0: "effect"}
    others = proposed(failed, (), 2, suspected=(0,), pivots=[1], heard=["last", "retry", "judge"])
    assert list(others.items()) == [(3, "last"), (1, "retry")]


def test_without_a_success_nothing_departs() -> None:
    assert rules(trial("start", "start")) == [(1, "last")]


def test_a_refused_turn_has_no_effect_though_the_state_key_moves() -> None:
    assert rules(trial("a", "b", errors=(0,))) == [(1, "effect"), (0, "error")]


def test_turns_that_the_policy_did_not_decide_are_never_proposed() -> None:
    failed = trial("a", "b")
    greeted = (make_turn(0, state_key="a", sampled_by=SampledBy.CANNED), *failed.turns[1:])
    assert proposed(replace(failed, turns=greeted), (), 9) == {1: "effect"}


def test_what_a_judge_suspects_comes_first_in_its_order_and_only_as_far_as_the_policy_took_it() -> (
    None
):
    failed = trial("a", "b", "c")
    found = proposed(failed, (), 3, suspected=(1, 7, 0))
    assert list(found.items()) == [(1, "judge"), (2, "effect"), (0, "judge")]


def call(name: str, arguments: str, call_id: str = "c") -> AgentTurn:
    return AgentTurn(tool_calls=(ToolCall.received(call_id, name, arguments),))


def test_the_same_deed_is_the_same_act_however_it_is_numbered_and_spelled() -> None:
    act = call("buy", '{"a": 1, "b": 2}')
    assert act_digest(act) == act_digest(call("buy", '{"b":2,"a":1}', "other"))
    assert act_digest(act) == act_digest(AgentTurn("I will buy.", act.tool_calls, "a thought"))
    assert (
        len(
            {
                act_digest(a)
                for a in (
                    act,
                    call("buy", '{"a":1}'),
                    call("sell", '{"a": 1, "b": 2}'),
                    call("buy", "{oops"),
                )
            }
        )
        == 4
    )
    assert act_digest(AgentTurn("Sure,  thing\n")) == act_digest(AgentTurn("Sure, thing"))
    assert act_digest(AgentTurn("No.")) != act_digest(AgentTurn("Yes."))


def test_sources_take_turns_and_each_act_is_taken_once() -> None:
    own, other, third, fourth = (call("go", f'{{"to":{n}}}') for n in range(4))

    def from_(source: str, *turns: AgentTurn) -> list[Proposal]:
        return [Proposal(turn, source, Authorship.MODEL) for turn in turns]

    sources = [from_("explorer", own, other, third), from_("expert", other, fourth)]
    assert [(a.turn, a.source) for a in merged(own, sources, 2)] == [
        (other, "explorer"),
        (fourth, "expert"),
    ]
    assert [(a.turn, a.source) for a in merged(own, sources, 9)] == [
        (other, "explorer"),
        (fourth, "expert"),
        (third, "explorer"),
    ]
    assert merged(own, [from_("explorer", own)], 2) == ()


def test_where_the_success_potential_fell_is_proposed_before_any_rule_of_one_trial() -> None:
    found = proposed(trial("a", "b", "c"), (), 3, suspected=(2,), dropped=(1, 9))
    assert list(found.items()) == [(2, "judge"), (1, "drop"), (0, "effect")]
