"""64 episodes at once leave the event loop free."""

import pytest

from benchmarks import textworld_lag
from tests.envs.textworld import installed  # noqa: F401 - skips these where the extra is missing


@pytest.mark.slow
@pytest.mark.nightly
def test_the_loop_is_less_than_100_ms_late_with_64_episodes_live() -> None:
    report = textworld_lag.measure(tasks=4, rounds=1)
    assert textworld_lag.LIVE == 64
    assert report.missed == []
