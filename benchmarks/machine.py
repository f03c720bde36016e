"""The machine that figures come from, and how busy others kept it meanwhile."""

import os
import platform
from pathlib import Path
from time import perf_counter


def machine() -> str:
    """Cores, CPU model, memory, Python and system in one line."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    python = f"Python {platform.python_version()}"
    return (
        f"{len(os.sched_getaffinity(0))} cores, {_cpu_model()}, {gib:.0f} GiB, {python}, "
        f"{platform.system()} {platform.machine()}"
    )


def _cpu_model() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.processor() or "unknown CPU",
    )


class CpuOfOthers:
    """CPU time spent on this machine by processes that are neither this one nor its ended children,
    since it was made.
    """

    def __init__(self) -> None:
        self._began = perf_counter()
        self._before = _busy_s() - _own_s()

    def cores(self) -> float:
        """Cores kept busy, on average; 0 where the system does not tell."""
        return max(0.0, (_busy_s() - _own_s() - self._before) / (perf_counter() - self._began))


def _own_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _busy_s() -> float:
    """Seconds of user, nice, system, irq and softirq over all cores; 0 where there is no /proc."""
    path = Path("/proc/stat")
    if not path.exists():
        return 0.0
    user, nice, system, _idle, _iowait, irq, softirq, *_ = map(
        int, path.read_text(encoding="utf-8").splitlines()[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
