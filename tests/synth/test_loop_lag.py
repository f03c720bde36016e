"""Time for which the loop is held is counted at once and once; time that is waited or computed
elsewhere is not.
"""

import asyncio
import time

import pytest

from synth.loop_lag import lagged_s


def lag_of(*parts: float) -> float:
    """Seconds of lag after parts that hold the loop (positive) or wait on it (negative)."""

    async def scene() -> float:
        before = lagged_s()
        for seconds in parts:
            if seconds > 0:
                time.sleep(seconds)  # noqa: ASYNC251 - what it is about
            else:
                await asyncio.sleep(-seconds)
        return lagged_s() - before

    return asyncio.run(scene())


@pytest.mark.slow
def test_what_holds_the_loop_is_counted_before_the_loop_runs_again_and_only_once() -> None:
    assert lag_of(0.3) == pytest.approx(0.25, abs=0.06)
    assert lag_of(0.3, -0.1) == pytest.approx(0.25, abs=0.09)
    assert lag_of(-0.1, 0.2, -0.1, 0.2) == pytest.approx(0.35, abs=0.16)


def test_what_waits_is_not() -> None:
    assert lag_of(-0.2) < 0.1
