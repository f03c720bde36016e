"""Intervals of success rates."""

import pytest

from synth.report.rates import percents
from synth.stats.intervals import clustered


def test_whole_tasks_are_resampled() -> None:
    # two tasks, one always solved, one never: resampled rates are 0, .5 or 1 with shares .25, .5,
    # .25
    assert clustered([50, 0], [50, 50]) == (0.0, 1.0)
    low, high = clustered([25, 24], [50, 50])
    assert (low, high) == (0.48, 0.5)


def test_where_no_task_differs_the_interval_is_that_of_as_many_trials_as_there_are_tasks() -> None:
    # Wilson 1927, 4 of 4: 1 / (1 + 1.96^2 / 4) = .5101
    low, high = clustered([8] * 4, [8] * 4)
    assert (low, high) == (pytest.approx(0.5101, abs=1e-4), pytest.approx(1.0))


def test_an_interval_is_read_in_percent() -> None:
    assert percents(0.592, 0.688) == "59–69 %"
