"""Patterns over fact paths."""

import pytest

from synth.envs.fact_pattern import matches


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("orders/*/state", "orders/O-1/state", True),
        ("orders/*/state", "orders/O-1/total", False),
        ("*/*/*", "orders/O-1/state", True),
        ("*/*/*", "orders/O-1/lines/2", False),
        ("orders/*", "orders/O-1/state", False),
        ("orders/O-1/state", "orders/O-11/state", False),
    ],
)
def test_a_star_stands_for_exactly_one_segment(pattern, path, expected):
    assert matches(pattern, path) is expected
