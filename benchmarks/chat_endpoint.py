"""A chat server with a fixed latency in a process of its own, on loopback."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.command_line import ROOT

BRAIN = "echo-expert"
"""Solves tasks of the echo world: one call per word, then `finish`."""


@contextmanager
def chat_endpoint(latency_ms: float) -> Iterator[str]:
    """Its base URL, for as long as the `with` lasts."""
    command = [sys.executable, "-m", "tests.synth.models.chat_server", "--brain", BRAIN, "--latency-ms", str(latency_ms)]
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
