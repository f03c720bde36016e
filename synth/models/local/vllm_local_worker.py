"""Runs a server until it ends or its parent is gone: `python vllm_local_worker.py PARENT
COMMAND...`, leading a process group.

A run that is killed leaves no server behind, and no memory of a GPU taken. Where the worker ends
first, the parent ends the group.
"""

import os
import signal
import subprocess
import sys
import time


def watch(parent: int, command: list[str]) -> int:
    """The server's exit code. Kills the group, itself too, where the parent is another one."""
    server = subprocess.Popen(command)

    while server.poll() is None and os.getppid() == parent:
        time.sleep(0.2)

    if os.getppid() != parent:
        os.killpg(0, signal.SIGKILL)
    return int(server.returncode)


if __name__ == "__main__":
    sys.exit(watch(int(sys.argv[1]), sys.argv[2:]))
