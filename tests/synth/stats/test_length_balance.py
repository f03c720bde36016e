"""What length alone gives away, and which pairs are left out until it gives little away."""

from hypothesis import given, settings
from hypothesis import strategies as st

from synth.stats.length_balance import Lengths, balanced, chosen_longer, length_auc, raw_auc


def lengths(*pairs: tuple[int, int]) -> list[Lengths]:
    return [
        Lengths(f"{number:04}", chosen, rejected) for number, (chosen, rejected) in enumerate(pairs)
    ]


def test_auc_counts_every_chosen_against_every_rejected_side() -> None:
    # chosen 3, 1; rejected 2, 1: 3>2, 3>1, 1<2, 1=1: (1 + 1 + 0 + .5) / 4
    assert raw_auc(lengths((3, 2), (1, 1))) == 0.625
    assert length_auc(lengths((3, 2), (1, 1))) is None, "of two pairs nothing is known"
    assert length_auc(lengths(*[(1, 9)] * 40)) == 1.0, (
        "the shorter one is as good a guess as the longer"
    )
    assert chosen_longer(lengths(*[(2, 1)] * 30, *[(1, 1)] * 4, *[(1, 2)] * 6)) == 0.8


def test_as_few_are_left_out_as_the_bound_allows_and_only_of_the_more_frequent_direction() -> None:
    pairs = lengths(*[(2, 1)] * 60, *[(1, 2)] * 40)
    # n longer of m: AUC = (n/m)^2 + n/m (1 - n/m) = n/m: .6 at 60 of 100
    assert balanced(pairs, 0.6) == pairs
    kept = balanced(pairs, 0.55)
    # n / (n + 40) <= .55: n <= 48.9
    assert [pair.direction for pair in kept].count(1) == 48
    assert [pair.direction for pair in kept].count(-1) == 40
    assert kept == pairs[12:], "the smallest ids go first, whatever their lengths"


def test_what_no_sample_can_balance_is_left_out_as_a_whole_and_few_pairs_are_never_touched() -> (
    None
):
    assert balanced(lengths(*[(9, 1)] * 50), 0.6) == []
    assert len(balanced(lengths(*[(9, 1)] * 19), 0.6)) == 19


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=80),
    st.randoms(use_true_random=False),
)
def test_the_bound_holds_and_the_order_of_the_pairs_does_not_matter(
    drawn: list[tuple[int, int]], random: object
) -> None:
    pairs = lengths(*drawn)
    shuffled = sorted(pairs, key=lambda pair: hash((pair.pair_id, 7)))
    kept = balanced(pairs, 0.6)
    assert kept == balanced(shuffled, 0.6)
    auc = length_auc(kept)
    assert auc is None or auc <= 0.6
    assert set(kept) <= set(pairs)
