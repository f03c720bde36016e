"""Runs a server until it ends or its parent is gone: `python vllm_local_worker.py PARENT COMMAND...`.

A run that is killed leaves no server behind, and no memory of a GPU taken.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from types import FrameType


def watch(parent: int, command: list[str]) -> int:
    """The server's exit code; where the parent is another one, or asks for the end (SIGTERM), the server's processes are killed."""

    def asked_to_end(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, asked_to_end)
    server = subprocess.Popen(command, start_new_session=True)
    try:
        while server.poll() is None and os.getppid() == parent:
            time.sleep(0.2)
        return server.returncode if server.returncode is not None else 128 + signal.SIGKILL
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)  # the engine's own processes too
        server.wait()


if __name__ == "__main__":
    sys.exit(watch(int(sys.argv[1]), sys.argv[2:]))
