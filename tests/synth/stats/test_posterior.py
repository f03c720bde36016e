"""P(one rate is higher than another) after trials of both: worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.stats.posterior import probability_better

COUNTS = st.integers(0, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0, 0), (0, 0), 1 / 2),
        # Beta(2, 1) and Beta(1, 2): 1 - the integral of 2x (1 - x)^2 ... = 5/6
        ((1, 1), (0, 1), 5 / 6),
        # 4 (B(1, 5) + B(2, 5) + B(3, 5) + B(4, 5)) = 69/70
        ((3, 3), (0, 3), 69 / 70),
    ],
)
def test_of_few_trials(one: tuple[int, int], other: tuple[int, int], expected: float) -> None:
    assert probability_better(one, other) == pytest.approx(expected, abs=1e-12)


@given(COUNTS, COUNTS)
def test_one_of_both_is_better(one: tuple[int, int], other: tuple[int, int]) -> None:
    both = probability_better(one, other) + probability_better(other, one)
    assert both == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("counts", [(2, 1), (-1, 3)])
def test_counts_that_cannot_be_are_refused(counts: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="successes"):
        probability_better(counts, (0, 0))
