"""Suggested KTO weights."""

import pytest

from synth.pairs import KtoReport


@pytest.mark.parametrize(
    ("desirable", "undesirable", "weights"),
    [
        (10, 10, (1.0, 1.0)),
        (5, 20, (4.0, 1.0)),
        (40, 20, (1.0, 1.5)),
        (0, 3, None),
        (4, 3, (1.0, 1.0)),
    ],
)
def test_suggested_weights_bring_the_classes_between_one_and_four_thirds(
    desirable: int, undesirable: int, weights: tuple[float, float] | None
) -> None:
    report = KtoReport(desirable=desirable, undesirable=undesirable)
    assert report.weights == weights
    if weights is not None:
        assert 1 <= weights[0] * desirable / (weights[1] * undesirable) <= 4 / 3
