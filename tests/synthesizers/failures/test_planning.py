"""Which attempts are planned: the same ones each time, never one twice, in the proportion that
verified labels are to have.
"""

from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest

from synth.synthesizers.failures.context import InjectionSettings
from synth.synthesizers.failures.planning import (
    AttemptPlanner,
    Offer,
    PlannedTask,
    draw_mode,
    mode_quotas_line,
    yields,
)
from tests.synthesizers.failures.twins import desk_twin

RULE_ONLY = Offer({"rule": 1.0}, {})


def plan(
    count: int = 2,
    offer: Offer = RULE_ONLY,
    done: tuple[int, ...] = (),
    yielded: Any = None,
    **settings: Any,
) -> Any:
    twins = [
        msgspec.structs.replace(desk_twin(), trajectory_id=f"twin{number}")
        for number in range(count)
    ]
    task = PlannedTask("task", tuple(twin.trajectory_id for twin in twins))
    planner = AttemptPlanner(InjectionSettings(**settings), offer, yielded or {}, 7)
    return planner.planned(task, twins, done)


def test_the_same_attempts_are_planned_each_time_and_what_is_done_is_left_out() -> None:
    whole, _ = plan(per_task=6)
    assert plan(per_task=6)[0] == whole
    assert plan(per_task=6, done=(0, 3))[0] == [
        planned for planned in whole if planned.ordinal not in (0, 3)
    ]


def test_twins_take_turns_and_none_gets_more_than_its_share() -> None:
    planned, _ = plan(per_task=20, per_twin=4)
    assert Counter(attempt.twin_id for attempt in planned) == {"twin0": 4, "twin1": 4}
    assert len({attempt.twin_id for attempt in planned[:2]}) == 2


def test_no_mode_is_tried_twice_at_the_same_turn_of_a_twin() -> None:
    planned, _ = plan(count=1, per_task=100, per_twin=100, modes={"FM-1.1": 1.0, "FM-1.3": 1.0})
    places = [(attempt.twin_id, attempt.mode, attempt.turn) for attempt in planned]
    assert len(places) == len(set(places))
    assert {(mode, turn) for _, mode, turn in places} == {
        ("FM-1.1", 4),
        ("FM-1.3", 5),
        ("FM-1.3", 6),
    }


def test_a_strategy_that_is_ruled_out_is_counted_and_another_one_takes_its_place() -> None:
    offer = Offer(
        {"rule": 1.0, "environment": 3.0}, {"environment": "policy_reads_no_observations"}
    )
    planned, declined = plan(per_task=8, offer=offer)
    assert {attempt.strategy for attempt in planned} == {"rule"}
    assert len(planned) == 8
    assert set(declined) == {"policy_reads_no_observations"}
    assert 1 <= declined["policy_reads_no_observations"] <= 8


def test_where_nothing_applies_nothing_is_planned_and_the_reason_is_counted() -> None:
    planned, declined = plan(
        per_task=2, offer=Offer({"natural": 1.0}, {"natural": "policy_is_deterministic"})
    )
    assert planned == []
    assert declined == {"policy_is_deterministic": 2}


def test_modes_are_drawn_so_that_verified_ones_come_in_the_proportion_of_the_weights() -> None:
    true_yield, weights = {"a": 0.2, "b": 0.8}, {"a": 0.5, "b": 0.5}
    random = Random(1)
    drawn = Counter(draw_mode(["a", "b"], weights, true_yield, random) for _ in range(4000))
    verified = {mode: drawn[mode] * true_yield[mode] for mode in "ab"}
    assert verified["a"] / sum(verified.values()) == pytest.approx(0.5, abs=0.03)


def test_a_mode_that_seldom_yields_is_drawn_at_most_ten_times_as_often() -> None:
    random = Random(1)
    drawn = Counter(
        draw_mode(
            ["seldom", "always"],
            {"seldom": 1, "always": 1},
            {"seldom": 0.01, "always": 1.0},
            random,
        )
        for _ in range(11000)
    )
    assert drawn["seldom"] / drawn["always"] == pytest.approx(10, rel=0.1)


def test_yields_are_shrunk_towards_one_half_by_two_attempts() -> None:
    assert yields({"a": 8, "b": 0}, {"a": 2}) == {"a": 3 / 10, "b": 1 / 2}


def test_a_mode_of_which_thirty_attempts_gave_nothing_is_given_up() -> None:
    assert yields({"a": 30, "b": 29, "c": 30}, {"c": 1}) == {"a": 0.0, "b": 1 / 31, "c": 2 / 32}
    assert {
        draw_mode(["a", "b"], {"a": 9, "b": 1}, {"a": 0.0, "b": 0.1}, Random(seed))
        for seed in range(50)
    } == {"b"}
    assert draw_mode(["a"], {"a": 1}, {"a": 0.0}, Random(0)) is None


def test_the_mix_is_told_as_target_and_achieved_with_their_distance() -> None:
    assert (
        mode_quotas_line({"a": 3, "b": 1}, {"a": 1, "b": 3})
        == "mix in % (target/achieved): a 75/25, b 25/75; 0.50 apart"
    )


@pytest.mark.parametrize(
    "modes",
    [{"FM-1.2": 1.0}, {"FM-9.9": 1.0}, {"FM-1.1": -1.0}, {"FM-1.1": 0.0}, {"FM-1.1": float("inf")}],
)
def test_modes_of_several_agents_unknown_ones_and_weights_that_are_none_are_refused(
    modes: dict[str, float],
) -> None:
    with pytest.raises(ValueError, match=r"FM-|weight"):
        InjectionSettings(modes=modes)
