"""How long the event loop ran nothing (a slow disk, a process that was stopped): time of no model
and no agent.
"""

import asyncio
import time
from weakref import WeakKeyDictionary

TICK_S = 0.05
LEAST_S = 0.05
"""Lateness that is no more than how busy loops run."""


class _Lag:
    """Its callback is due every `TICK_S`; how late it comes adds up."""

    def __init__(self) -> None:
        self._total_s = 0.0
        self._due = time.monotonic()
        self.tick()

    def tick(self) -> None:
        self._total_s = self.seconds()
        self._due = time.monotonic() + TICK_S
        asyncio.get_running_loop().call_later(TICK_S, self.tick)

    def seconds(self) -> float:
        late = time.monotonic() - self._due
        return self._total_s + (late if late > LEAST_S else 0.0)


_LAGS: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Lag]" = WeakKeyDictionary()


def lagged_s() -> float:
    """Seconds for which the running loop has run nothing since this was first asked; the difference
    of two looks is what counts.
    """
    loop = asyncio.get_running_loop()
    if loop not in _LAGS:
        _LAGS[loop] = _Lag()
    return _LAGS[loop].seconds()
