"""A Prefect server and workers as a user starts them, on loopback, for tests."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]
LONG_S = 150.0
"""A flow run once lay in the queue for 77 s on a busy machine."""


def wait_for(what: str, look: Callable[[], T | None], within_s: float = LONG_S) -> T:
    """The first answer that is not None or False."""
    deadline = time.monotonic() + within_s
    while True:
        found = look()
        if found is not None and found is not False:
            return found
        assert time.monotonic() < deadline, f"not within {within_s:.0f} s: {what}"
        time.sleep(0.25)


class PrefectSite:
    """A server, which can be killed and started again on the same data, and workers of the pool
    `synth`.

    `auth`: what the server wants from whoever asks; `database`: its URL, SQLite in `folder` without
    one.
    """

    def __init__(self, folder: Path, auth: str | None = None, database: str | None = None) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}/api"
        self._folder = folder
        self._server: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []
        self.environment = os.environ | {
            "PREFECT_HOME": str(folder / "prefect"),
            "SYNTH_STATE_DIR": str(folder / "state"),
            "PREFECT_API_URL": self.url,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "PREFECT_SERVER_SERVICES_SCHEDULER_DEPLOYMENT_BATCH_SIZE": "10",
        }
        self._of_server, self._headers = {}, {"Content-Type": "application/json"}
        if auth is not None:
            self._of_server["PREFECT_SERVER_API_AUTH_STRING"] = auth
            self.environment["PREFECT_API_AUTH_STRING"] = auth
            self._headers["Authorization"] = f"Basic {base64.b64encode(auth.encode()).decode()}"
        if database is not None:
            self._of_server["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = database

    def start(self) -> None:
        """Until it answers."""
        self._server = self._spawn(
            "server", "server", "start", "--host", "127.0.0.1", "--port", str(self._port), "--no-ui"
        )
        wait_for("the server answers", self._answers)

    def kill(self) -> None:
        """SIGKILL, as an outage."""
        if self._server is not None:
            _kill(self._server)
            self._server = None

    def worker(self) -> "subprocess.Popen[bytes]":
        """One that takes up to four runs at a time."""
        worker = self._spawn(
            f"worker{len(self._workers)}",
            "worker",
            "start",
            "--pool",
            "synth",
            "--type",
            "process",
            "--limit",
            "4",
        )
        self._workers.append(worker)
        return worker

    def kill_workers(self) -> None:
        """SIGKILL to the workers and to the flow runs that they have started."""
        for worker in self._workers:
            _kill(worker)
        self._workers = []

    def end(self) -> None:
        """Leaves no process behind."""
        self.kill_workers()
        self.kill()

    def synth(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """The command line, with this server."""
        command = [sys.executable, "-c", "from synth.cli.main import main; main()", *arguments]
        return subprocess.run(
            command,
            env=self.environment | environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=LONG_S,
            check=False,
        )

    def ask(self, path: str, **body: Any) -> Any:
        """A POST to the API, again where the server is too busy to answer: on a loaded machine its
        SQLite is locked for seconds.
        """
        return self._sent(
            urllib.request.Request(
                f"{self.url}/{path}", data=json.dumps(body).encode(), headers=self._headers
            )
        )

    def _sent(self, request: urllib.request.Request) -> Any:
        """What a request is answered with, once the server has time for it."""

        def answered() -> tuple[Any] | None:
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return (json.loads(answer.read() or b"null"),)
            except HTTPError as error:
                if error.code < 500:
                    raise
            except (TimeoutError, ConnectionError, URLError):
                pass
            return None

        return wait_for(f"{request.full_url} is answered", answered)[0]

    def flow_runs(self, *states: str) -> list[dict[str, Any]]:
        """Those that have begun, in the order of their firing, or those in the given states."""
        found = self.ask("flow_runs/filter", sort="EXPECTED_START_TIME_ASC")
        return [
            run
            for run in found
            if (
                run["state"]["type"] in states
                if states
                else run["state"]["type"] not in ("SCHEDULED", "PENDING")
            )
        ]

    def fire(self, deployment_id: str, **parameters: Any) -> str:
        """A flow run of a deployment, now; its id."""
        return str(
            self.ask(f"deployments/{deployment_id}/create_flow_run", parameters=parameters)["id"]
        )

    def deployment(self, name: str) -> str:
        """Its id."""
        (found,) = [one for one in self.ask("deployments/filter") if one["name"] == name]
        return str(found["id"])

    def forget_deployments(self) -> None:
        """Deletes them, and so their schedules and what is due."""
        for deployment in self.ask("deployments/filter"):
            self._sent(
                urllib.request.Request(
                    f"{self.url}/deployments/{deployment['id']}",
                    headers=self._headers,
                    method="DELETE",
                )
            )

    def state(self, flow_run: str) -> str:
        """Of a flow run by id."""
        (found,) = [run for run in self.ask("flow_runs/filter") if run["id"] == flow_run]
        return str(found["state"]["type"])

    def _spawn(self, log: str, *arguments: str) -> "subprocess.Popen[bytes]":
        with (self._folder / f"{log}.log").open("ab") as file:
            return subprocess.Popen(
                [sys.executable, "-m", "prefect", *arguments],
                env=self.environment | (self._of_server if log == "server" else {}),
                cwd=self._folder,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.url}/health", timeout=2)
        except OSError:
            return False
        return True


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """SIGKILL to a process and all its descendants, which may have sessions of their own."""
    for pid in [*_descendants(process.pid), process.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found = list(children.get(pid, []))
    for child in found:
        found += children.get(child, [])
    return found
