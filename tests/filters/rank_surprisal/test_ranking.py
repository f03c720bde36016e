"""Candidates and sources ranked by their ratios, ties and proxies."""

from pathlib import Path

import pytest

from synth.filters.rank_surprisal.measure import RankSurprisalConfig
from synth.filters.rank_surprisal.ratio import Sums
from synth.filters.rank_surprisal.sources import ScoredRow, ranking
from synth.filters.rank_surprisal.student_card import trained_on
from synth.filters.rank_surprisal.within_task import TIE, RankedTrial, selected
from synth.schemas.filtering import Verdict
from synth.stats.ranks import spearman


def candidate(
    name: str, *ratios: float, policy: str = "a", success: bool = True, weights: str = "w"
) -> RankedTrial:
    """Ten tokens a turn, one nat each."""
    turns = tuple(Sums(10 * ratio, 10.0, 10) for ratio in ratios)
    return RankedTrial(name, (policy, None), success, turns, (weights, "h"))


CHOOSE = RankSurprisalConfig(select=True)


LOW, HIGH = (1.0, 1.1, 0.9, 1.0), (3.0, 3.1, 2.9, 3.0)


def kept(verdicts: dict[str, Verdict]) -> dict[str, tuple[bool | None, str]]:
    return {name: (verdict.keep, verdict.reason) for name, verdict in verdicts.items()}


def test_candidates_of_two_policies_whose_ratios_lie_clearly_apart_are_chosen_among() -> None:
    found = selected([candidate("x", *LOW), candidate("y", *HIGH, policy="b")], CHOOSE)
    assert kept(found) == {"x": (True, "lowest_rsr"), "y": (False, "higher_rsr")}
    assert found["y"].detail["gap"] == pytest.approx(2.0)


def test_seven_of_one_policy_are_a_tie_and_eight_are_not() -> None:
    seven = [candidate("low", *LOW), *(candidate(f"h{i}", *HIGH) for i in range(6))]
    assert set(kept(selected(seven, CHOOSE)).values()) == {(None, TIE)}
    eight = kept(selected([*seven, candidate("h7", *HIGH)], CHOOSE))
    assert (eight.pop("low"), set(eight.values())) == (
        (True, "lowest_rsr"),
        {(False, "higher_rsr")},
    )


def test_a_gap_within_two_standard_errors_is_a_tie_and_what_lies_beyond_is_dropped() -> None:
    noisy = candidate("x", 0.2, 2.2, 0.5, 1.1), candidate("y", 0.4, 2.4, 0.6, 1.2, policy="b")
    found = selected([*noisy, candidate("z", 30.0, 31.0, 29.0, 30.0, policy="b")], CHOOSE)
    assert kept(found) == {"x": (None, TIE), "y": (None, TIE), "z": (False, "higher_rsr")}
    assert found["x"].detail["why"] == "within_noise"


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (candidate("y", *HIGH, policy="b", weights="v"), "different_weights_or_templates"),
        (candidate("y", 3.0, 3.0, 3.0, policy="b"), "few_turns"),
        (candidate("y", *HIGH, policy="b", success=False), "one_candidate"),
    ],
)
def test_what_cannot_be_compared_is_a_tie_that_says_why(other: RankedTrial, why: str) -> None:
    found = selected([candidate("x", *LOW), other], CHOOSE)
    assert (found["x"].keep, found["x"].reason, found["x"].detail["why"]) == (None, TIE, why)


def test_failures_are_no_candidates_beside_a_success_and_the_lowest_of_all_is_told() -> None:
    found = selected(
        [
            candidate("x", *HIGH),
            candidate("y", *HIGH, policy="b"),
            candidate("z", *LOW, success=False),
        ],
        CHOOSE,
    )
    assert kept(found)["z"] == (None, "not_a_candidate")
    assert found["x"].detail["lowest_of_all"] == "z"
    both = selected(
        [candidate("x", *HIGH), candidate("z", *LOW, success=False, policy="b")],
        RankSurprisalConfig(solved_first=False),
    )
    assert kept(both)["z"] == (True, "lowest_rsr")


def test_spearman_is_that_of_ranks_with_ties_sharing_their_mean() -> None:
    assert spearman([1, 2, 3, 4], [10, 100, 1000, 10000]) == pytest.approx(1.0)
    assert spearman([1, 2, 3], [3, 2, 2]) == pytest.approx(
        -(0.75**0.5)
    )  # ranks 1 2 3 and 3 1.5 1.5: -1.5 / sqrt(2 * 1.5)
    assert spearman([1, 2], [1, 2]) is None
    assert spearman([1, 2, 3], [5, 5, 5]) is None


def row(
    source: str, task: int, rank: float, nll: float, length: int = 10, share: float = 0.5
) -> ScoredRow:
    return ScoredRow(
        source,
        f"t{task}",
        rank / nll,
        (rank, nll),
        tokens=10,
        decision=(rank, nll),
        chat_tokens=length,
        copied_share=share,
        loss_tokens=10,
    )


def test_sources_are_ranked_by_the_ratio_of_summed_means_on_the_tasks_that_they_share() -> None:
    rows = [row("far", i, 6.0, 2.0 + i % 3 / 10) for i in range(20)]
    rows += [row("near", i, 3.0 + i % 2, 2.0) for i in range(10)]
    found = ranking(
        [*rows, ScoredRow("far", "t0", why="too_long"), ScoredRow("unseen", "t0", why="scripted")]
    )
    near, far, unseen = found.sources
    assert (near.name, far.name, unseen.name) == ("near", "far", "unseen")
    assert near.ratio is not None
    assert near.ratio.value == pytest.approx(35 / 20)
    assert (near.ratio.low or 0) < 1.75 < (near.ratio.high or 0)
    assert (far.trajectories, far.tasks, far.shared_tasks, far.not_scored) == (
        20,
        20,
        10,
        {"too_long": 1},
    )
    assert far.above_first is not None
    assert far.above_first.value == pytest.approx(
        60 / (10 * 2.0 + 0.9) - 1.75
    )  # tasks 0 to 9: 0 .1 .2 0 .1 .2 0 .1 .2 0
    assert (far.above_first.low or 0) > 0
    assert (unseen.ratio, unseen.not_scored) == (None, {"scripted": 1})


def test_a_ratio_that_goes_with_length_is_called_a_proxy_and_one_task_has_no_interval() -> None:
    found = ranking(
        [row("a", i, 2.0 + i, 1.0, length=100 + i, share=(i * 7 % 5) / 5) for i in range(10)]
    )
    assert found.proxies == ["length"]
    assert found.correlations["loss tokens"] is None
    (alone,) = ranking([row("a", 0, 2.0, 1.0)]).sources
    assert alone.ratio is not None
    assert (alone.ratio.value, alone.ratio.low) == (2.0, None)


def test_a_student_whose_card_names_a_data_set_of_the_run_was_trained_on_it(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "datasets" / "sft"
    folder.mkdir(parents=True)
    (folder / "train-0123456789abcdef-00000.parquet").touch()
    card = tmp_path / "README.md"
    card.write_text("Trained on other-000000000000abcd and 0123456789abcde.")
    assert trained_on(card, tmp_path / "run") is None
    card.write_text("datasets: train-0123456789abcdef-00000.parquet")
    assert trained_on(card, tmp_path / "run") == folder
