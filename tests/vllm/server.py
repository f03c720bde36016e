"""A real vLLM server on loopback, in a process group of its own, that can be killed and started
again at the same address.
"""

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

MODEL_NAME = "tiny"
START_S = 420
"""Seconds for the first start on a busy machine of two cores; 70 to 90 is usual."""
FLAGS = [
    "--dtype=float32",
    "--max-model-len=16384",
    "--max-num-seqs=16",
    "--enforce-eager",
    "--enable-auto-tool-choice",
    "--tool-call-parser=hermes",
    "--enable-prefix-caching",
    "--enable-prompt-tokens-details",
    '--structured-outputs-config={"backend":"xgrammar","disable_any_whitespace":true}',
]


class VLLMServer:
    """`python` is the interpreter of vLLM's environment, `model` the folder of
    `random_model.build`.
    """

    def __init__(self, python: Path, model: Path, log: Path) -> None:
        self._python, self._model, self._log = python, model, log
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """As `base_url` of a model."""
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Returns when the server is healthy; raises with the end of its log where it is not."""
        command = [
            str(self._python),
            "-m",
            "vllm.entrypoints.openai.api_server",
            f"--model={self._model}",
            f"--served-model-name={MODEL_NAME}",
        ]
        command += ["--host=127.0.0.1", f"--port={self.port}", *FLAGS]
        environment = os.environ | {
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_HOST_IP": "127.0.0.1",
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HUB_OFFLINE": "1",
        }
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + START_S
        while not self._healthy():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(
                    f"vLLM did not start:\n{self._log.read_text(errors='replace')[-3000:]}"
                )
            time.sleep(0.5)

    def kill(self) -> None:
        """SIGKILL to all of its processes."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def metric(self, name: str) -> float:
        """The sum of a counter over its labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        return sum(
            float(line.rpartition(" ")[2])
            for line in lines
            if line.startswith((f"{name}{{", f"{name} "))
        )

    def _healthy(self) -> bool:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}/health", timeout=2
            ) as answer:
                return int(answer.status) == 200
        except (urllib.error.URLError, OSError):
            return False
