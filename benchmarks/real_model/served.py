"""The model behind vLLM's CPU build on loopback, for as long as it is needed."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from synth.models.local.vllm_local_server import MODULE, QUIET, WORKER
from synth.schemas import SynthError

NAME = "smollm2-135m"
STARTS_WITHIN_S = 420.0
FLAGS = (
    f"--served-model-name={NAME}",
    "--dtype=float32",  # bfloat16 is emulated where a CPU has neither AVX512-BF16 nor AMX
    "--max-model-len=8192",
    "--max-num-seqs=16",
    "--max-num-batched-tokens=8192",
    "--no-enable-chunked-prefill",  # vLLM 0.32's CPU build dies of a cut prompt with a seed
    "--enforce-eager",
    "--enable-auto-tool-choice",
    "--tool-call-parser=hermes",
    "--tool-strict-level=parameter",  # without it a required call has any arguments
    "--enable-prompt-tokens-details",
    '--structured-outputs-config={"backend":"xgrammar","disable_any_whitespace":true}',
)
ENVIRONMENT = QUIET | {
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "2",
    "OMP_WAIT_POLICY": "PASSIVE",
    "GOMP_SPINCOUNT": "0",
}
"""Two threads that sleep while they wait for each other: where others used the cores, two that
spin made a call take 50 s in place of 3.
"""


@contextmanager
def served(python: Path, model: Path, log: Path) -> Iterator[str]:
    """The server's base URL, once it is healthy; it ends with the context, or with this process.

    Raises `SynthError` with the end of its log where it does not start.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = ["--host=127.0.0.1", f"--port={port}", f"--model={model}"]
    command = [sys.executable, "-I", "-S", str(WORKER), str(os.getpid())]
    command += [str(python), "-m", MODULE, *address, *FLAGS]
    with log.open("wb") as out:
        worker = subprocess.Popen(
            command, env=ENVIRONMENT | os.environ, stdout=out, stderr=out, start_new_session=True
        )
    try:
        _wait(worker, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(worker.pid, 9)
        worker.wait()


def _wait(worker: "subprocess.Popen[bytes]", health: str, log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while not _answers(health):
        if worker.poll() is not None or time.monotonic() > deadline:
            said = log.read_text(errors="replace")[-2000:]
            raise SynthError(f"vLLM did not start; the end of its log:\n{said}")
        time.sleep(0.5)


def _answers(health: str) -> bool:
    try:
        with urllib.request.urlopen(health, timeout=2) as answer:
            return int(answer.status) == 200
    except (urllib.error.URLError, OSError):
        return False
