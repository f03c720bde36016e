"""A chat server with a known latency in a process of its own, on loopback."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.command_line import ROOT


@contextmanager
def chat_endpoint(latency_ms: float, *, slow_share: int = 0, error_every: int = 0) -> Iterator[str]:
    """Its base URL, for as long as the `with` lasts; see `fixed_latency_server` for what the
    arguments do.
    """
    options = [
        "--latency-ms",
        str(latency_ms),
        "--slow-share",
        str(slow_share),
        "--error-every",
        str(error_every),
    ]
    command = [sys.executable, "-m", "benchmarks.fixed_latency_server", *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"{' '.join(command)} did not start")
        yield url
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
