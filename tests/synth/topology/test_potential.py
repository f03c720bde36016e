"""The success potential: a hand-computed case, and that pure noise is ranked as noise."""

from random import Random

import pytest

from benchmarks.within_tasks import (
    RankAgreement,
    concordance,
    of_pairs,
    pairwise,
    within_tasks,
)
from synth.topology.graph import GraphTrial, TaskGraph, graph_of
from synth.topology.potential import PotentialPair, drops, potential_pairs, potentials


def test_the_potential_is_that_of_the_other_trials_less_their_pass_rate() -> None:
    trials = [
        GraphTrial("1", True, ("a", "b")),
        GraphTrial("2", True, ("a", "b")),
        GraphTrial("3", False, ("a", "c")),
        GraphTrial("4", False, ("a", "d")),
    ]
    first, second, third, fourth = potentials(graph_of("t", trials))
    # donors of 1: 2 (pass), 3, 4 (fail): rate 1/3. a: 3 came by, 1 passed: (1 + 2/3) / 5 - 1/3 = 0.
    # b: trial 2 alone: (1 + 2/3) / 3 - 1/3
    assert first.by_turn == pytest.approx((0.0, 5 / 9 - 1 / 3))
    assert second.by_turn == pytest.approx(first.by_turn)
    # donors of 3: 1, 2 pass, 4 fails: rate 2/3. a: (2 + 4/3) / 5 - 2/3 = 0; nobody else took c
    assert third.by_turn == (pytest.approx(0.0), None)
    assert (third.support, third.seen, third.donors) == ((3, 0), 0.5, 3)
    assert fourth.mean() == pytest.approx(0.0)
    assert first.mean() == pytest.approx((5 / 9 - 1 / 3) / 2)
    assert first.mean(1) == pytest.approx(0.0)


def test_a_trial_that_is_alone_or_mostly_on_ways_of_its_own_has_no_potential() -> None:
    (alone,) = potentials(graph_of("t", [GraphTrial("1", True, ("a",))]))
    assert (alone.by_turn, alone.pass_rate, alone.mean()) == ((None,), None, None)
    trials = [GraphTrial("1", True, ("a", "x", "y", "z")), GraphTrial("2", False, ("a",))]
    assert potentials(graph_of("t", trials))[0].mean() is None  # a quarter of its turns is known


def test_a_drop_is_told_where_enough_donors_came_by() -> None:
    good = [GraphTrial(str(n), True, ("a", "b")) for n in range(4)]
    bad = [GraphTrial(str(n + 4), False, ("a", "c")) for n in range(4)]
    last = potentials(graph_of("t", [*good, *bad]))[-1]
    # donors of the last: 4 pass, 3 fail: rate 4/7; at c 3 came by and none passed: (0 + 8/7) / 5 -
    # 4/7 = -12/35
    assert last.by_turn[1] == pytest.approx(-12 / 35)
    assert drops(last) == [1]
    assert drops(last, support=4) == []


def noise(trials: int, tasks: int = 1000) -> list[TaskGraph]:
    """Tasks whose outcomes are coin flips, whatever was done."""
    rng = Random(20261121)
    return [
        graph_of(
            str(task),
            [
                GraphTrial(
                    str(n),
                    rng.random() < 0.5,
                    tuple(f"{depth}{rng.randrange(4)}" for depth in range(8)),
                )
                for n in range(trials)
            ],
        )
        for task in range(tasks)
    ]


def one_by_one(graphs: list[TaskGraph]) -> RankAgreement:
    by_task = {
        graph.task_id: [
            (mean, t.success)
            for t, p in zip(graph.trials, potentials(graph), strict=True)
            if (mean := p.mean()) is not None
        ]
        for graph in graphs
    }
    ranking = within_tasks(by_task, resamples=500)
    assert ranking is not None
    return ranking


def in_pairs(graphs: list[TaskGraph]) -> RankAgreement:
    ranking = of_pairs({graph.task_id: pairwise(graph) for graph in graphs}, resamples=500)
    assert ranking is not None
    return ranking


@pytest.mark.slow
def test_with_eight_trials_outcomes_that_are_noise_are_ranked_as_noise() -> None:
    assert 0.45 <= one_by_one(noise(8)).auroc <= 0.55


@pytest.mark.slow
def test_with_four_trials_only_pairs_scored_by_the_same_donors_rank_noise_as_noise() -> None:
    graphs = noise(4)
    assert 0.45 <= in_pairs(graphs).auroc <= 0.55
    assert (
        one_by_one(graphs).high < 0.5
    )  # each is a donor of the other: not to be used for comparing trials of small groups


def test_a_pair_is_scored_by_the_trials_beside_it() -> None:
    trials = [
        GraphTrial("1", True, ("a",)),
        GraphTrial("2", True, ("a",)),
        GraphTrial("3", False, ("a",)),
        GraphTrial("4", False, ("b",)),
    ]
    found = pairwise(graph_of("t", trials))
    # 1 against 3: donors 2 (pass, a) and 4 (fail, b), rate 1/2; both were at a: (1 + 1) / 3 - 1/2 =
    # 1/6. 1 against 4: nobody else was at b, so the pair is a tie
    known, unknown = (pytest.approx(1 / 6), pytest.approx(1 / 6)), (0.0, 0.0)
    assert found == [known, unknown, known, unknown]


def stored(trials: list[GraphTrial]) -> list[PotentialPair]:
    return list(potential_pairs(graph_of("t", trials)))


@pytest.mark.parametrize("count", [1, 2, 3, 8, 17])
def test_up_to_seventeen_trials_every_pair_is_there_once(count: int) -> None:
    trials = [GraphTrial(str(n), n % 2 == 0, ("a",)) for n in range(count)]
    found = {frozenset((one.first, one.second)) for one in stored(trials)}
    assert len(found) == len(stored(trials)) == count * (count - 1) // 2


def test_of_many_trials_each_is_compared_with_sixteen_whatever_they_came_to() -> None:
    trials = [GraphTrial(str(n), n < 7, ("a",)) for n in range(40)]
    named = [one for pair in stored(trials) for one in (pair.first, pair.second)]
    assert {named.count(trial) for trial in trials} == {16}


def test_a_pair_says_which_trial_does_better_and_a_half_where_it_does_not_know() -> None:
    trials = [
        GraphTrial("1", True, ("a", "b")),
        GraphTrial("2", True, ("a", "b")),
        GraphTrial("3", False, ("a", "c")),
        GraphTrial("4", False, ("a", "c")),
        GraphTrial("5", False, ("x", "y")),
    ]
    value = {
        (one.first.trajectory_id, one.second.trajectory_id): one.value for one in stored(trials)
    }
    # 1 against 3: donors 2 (pass, a b), 4 and 5 (fail), rate 1/3: b is above it, c below
    assert value["1", "3"] == 1
    assert value["1", "2"] == 0.5, "the same way"
    assert value["5", "1"] == 0.5, "nobody else went the way of 5"


@pytest.mark.slow
def test_noise_is_ranked_at_a_half_by_stored_pairs_of_four_trials() -> None:
    """All pairs of a success and a failure count, the unknown ones a half: of the known ones alone
    the mean is .467.
    """
    known, every = [], []
    for graph in noise(4):
        for pair in potential_pairs(graph):
            if pair.first.success is not pair.second.success:
                value = pair.value if pair.first.success else 1 - pair.value
                every.append(value)
                if None not in (pair.of_first, pair.of_second):
                    known.append(value)
    assert abs(sum(every) / len(every) - 0.5) < 0.02
    assert len(known) < 0.95 * len(every)


def test_turns_that_decide_are_ranked_above_noise() -> None:
    rng = Random(7)
    graphs = []
    for task in range(300):
        paths = [tuple(f"{depth}{rng.randrange(3)}" for depth in range(5)) for _ in range(8)]
        graphs.append(
            graph_of(
                str(task),
                [
                    GraphTrial(str(n), rng.random() < (0.9 if p[2] == "20" else 0.2), p)
                    for n, p in enumerate(paths)
                ],
            )
        )
    assert one_by_one(graphs).low > 0.5
    assert in_pairs(graphs).low > 0.5


def test_concordance_counts_pairs_and_halves_ties() -> None:
    assert concordance([(1.0, True), (0.5, False), (1.0, False)]) == (0.75, 2)
    assert concordance([(1.0, True)]) is None
    assert within_tasks({"a": [(1.0, True)]}) is None
