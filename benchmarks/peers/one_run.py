"""One contender at its work once, watched from outside: by the server it asks, and by its process
tree.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.command_line import ROOT
from benchmarks.peers.contenders import Contender, command, surroundings
from benchmarks.peers.observed_server import Observed
from benchmarks.peers.process_tree import Watch

LOOK_S = 0.25
WEIGHED_EVERY = 4
"""One look in so many weighs the memory."""
LONGEST_S = 600


@dataclass(frozen=True, slots=True)
class Ran:
    """One run. `efficiency` = calls x latency / calls in flight / wall, with wall from the first
    call to the last reply.
    """

    efficiency: float
    wall_s: float
    before_s: float
    """From its start to the first call."""
    after_s: float
    """From the last reply to its end."""
    cpu_ms: float
    """Per call, of the process tree, between the first call and the last reply."""
    whole_cpu_s: float
    peak_mb: float
    most_in_flight: int


def run(
    contender: Contender, calls: int, in_flight: int, latency_ms: float, environments: Path
) -> Ran:
    """Raises `RuntimeError` where it fails, hangs, or does other work than asked for."""
    with tempfile.TemporaryDirectory() as name, _server(latency_ms) as url:
        folder = Path(name)
        episodes = calls // contender.calls
        began_s = time.monotonic()
        watch, whole_cpu_s, largest_mb = _watched(
            command(contender, url, episodes, in_flight, folder, environments), folder
        )
        ended_s = time.monotonic()
        with urllib.request.urlopen(f"{url.removesuffix('/v1')}/observed", timeout=30) as reply:
            seen = msgspec.json.decode(reply.read(), type=Observed)
    if (seen.calls, seen.in_flight) != (calls, 0) or (
        contender.calls > 1 and seen.ended != episodes
    ):
        raise RuntimeError(
            f"{contender.name}: {seen.calls} calls of {calls}, {seen.ended} ends of {episodes}"
        )
    wall_s = seen.last_reply_s - seen.first_call_s
    return Ran(
        efficiency=calls * latency_ms / 1000 / in_flight / wall_s,
        wall_s=wall_s,
        before_s=seen.first_call_s - began_s,
        after_s=ended_s - seen.last_reply_s,
        cpu_ms=watch.cpu_between(seen.first_call_s, seen.last_reply_s) / calls * 1000,
        whole_cpu_s=whole_cpu_s,
        peak_mb=max(watch.peak_mb, largest_mb),
        most_in_flight=seen.most_in_flight,
    )


@contextmanager
def _server(latency_ms: float) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.peers.observed_server", "--latency-ms", str(latency_ms)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def _watched(started: Sequence[str], folder: Path) -> tuple[Watch, float, float]:
    """Runs a command to its end: its samples, its CPU time (s), and the peak (MB) of its largest
    process.
    """
    output = folder / "output"
    with output.open("wb") as file:
        process = subprocess.Popen(
            started,
            cwd=ROOT,
            env=surroundings(folder),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    watch, looks = Watch(process.pid), 0
    while True:
        watch.look(weigh=looks % WEIGHED_EVERY == 0)
        looks += 1
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if looks * LOOK_S > LONGEST_S:
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(LOOK_S)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(
            f"{' '.join(started)} ended with "
            f"{process.returncode}:\n{output.read_text(errors='replace')[-3000:]}"
        )
    return watch, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6
