"""The times of what commands wrote: such as depend on nothing but how many things were done, so
that a restored tree equals a replayed one in all that can be seen.
"""

import os
from collections.abc import Iterable

_DAYS_NS, _EARLY_NS = 12 * 24 * 3600 * 10**9, 10**18
"""A folder newer than so many days has times that may be later than a command's."""


class Clock:
    """Of one branch: `began_ns` is when it was made, `latest_s` the latest time in its folder."""

    def __init__(self, began_ns: int, latest_s: int) -> None:
        latest = latest_s * 10**9
        self._began, self.tick = began_ns, 0
        self._from = latest if latest < began_ns - _DAYS_NS else _EARLY_NS

    def settle(self, root: int, written: Iterable[tuple[str, os.stat_result]]) -> None:
        """What was written in a tree gets its time. What only looked has not been done."""
        late = [path for path, state in written if state.st_mtime_ns >= self._began]
        if os.fstat(root).st_mtime_ns >= self._began:
            late.append(".")

        self.tick += bool(late)
        stamp = self._from + self.tick * 10**9
        for path in late:
            os.utime(path, ns=(stamp, stamp), dir_fd=root, follow_symlinks=False)
