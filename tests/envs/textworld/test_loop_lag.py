"""64 episodes at once leave the event loop free."""

import pytest

pytest.importorskip(
    "synth.envs.textworld",
    reason="the extra is missing: pip install -c constraints.txt -e '.[textworld]'",
    exc_type=ImportError,
)

from benchmarks import textworld_lag


@pytest.mark.slow
@pytest.mark.nightly
def test_the_loop_is_less_than_100_ms_late_with_64_episodes_live() -> None:
    report = textworld_lag.measure(tasks=4, rounds=1)
    assert textworld_lag.LIVE == 64
    assert report.missed == []
