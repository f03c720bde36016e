"""The process of an environment is killed, or eats memory, in the middle of its work."""

import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from synth.confinement import missing
from synth.schemas.flow import Flow
from tests.chaos.faults_table import FaultsTable
from tests.chaos.ground import Ground
from tests.chaos.holding import held, mislabelled, rows, twice
from tests.chaos.troubled_worlds import undisturbed
from tests.flow_files import model_flow
from tests.synth.models.chat_brains import called
from tests.synth.models.chat_server import ChatServer

pytestmark = pytest.mark.chaos

PYTHON = "/usr/bin/python3"


confined = pytest.mark.skipif(
    missing() is not None or not Path(PYTHON).exists(),
    reason=missing() or f"no {PYTHON}: a confined server sees the system's alone",
)


SERVER = """
import json, os, sys, time
tool = {"name": "go", "description": "", "inputSchema": {"type": "object", "properties": {}}}
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        found = {"protocolVersion": asked["params"]["protocolVersion"]}
        found |= {"capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    elif asked.get("method") == "tools/list":
        found = {"tools": [tool]}
    elif asked.get("method") == "tools/call":
        if os.path.exists("/world/eat.txt"):
            taken = []
            while True:
                taken.append(bytearray(os.urandom(1 << 20) * 8))
        time.sleep(0.2)
        open("/world/gone.txt", "a").write("x")
        found = {"content": [{"type": "text", "text": "went"}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": found}), flush=True)
"""


def went_thrice(body: Any) -> dict[str, Any]:
    """Calls the tool three times, then says that it is done."""
    done = sum(message["role"] == "assistant" for message in body["messages"])
    return (
        called("go", {}, f"call_{done}") if done < 3 else {"role": "assistant", "content": "done"}
    )


@pytest.fixture
def code() -> Iterator[Path]:
    """Where a server of another user may read; pytest's own folders are ours alone."""
    with tempfile.TemporaryDirectory(prefix="synth-chaos-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def serving(code: Path, url: str, *, tasks: int = 6, start: Path | None = None) -> Flow:
    (code / "server.py").write_text(SERVER)
    check = {"required": [{"table": "file", "where": {"id": "gone.txt", "content": "xxx"}}]}
    (code / "tasks.yaml").write_text(
        json.dumps(
            [{"goal": f"go three times, for the {n}th time", "check": check} for n in range(tasks)]
        )
    )
    command = [PYTHON, str(code / "server.py")]
    env: dict[str, Any] = {
        "name": "mcp",
        "tasks": tasks,
        "command": command,
        "task_file": str(code / "tasks.yaml"),
    }
    env |= {"read_only": [str(code)], "limits": {"memory_mb": 64}}
    if start is not None:
        env["folder"] = str(start)
    return model_flow(
        url,
        env=env,
        stages=[{"rollout": {"trials": 2, "shard": 4, "live": 3}}, {"filter": ["solved"]}],
    )


def servers(code: Path) -> list[int]:
    """The processes that run the server of this test."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if (
                words[0].rpartition(b"/")[2].startswith(b"python")
                and str(code / "server.py").encode() in words
            ):
                found.append(int(process.name))
    return found


@confined
@pytest.mark.parametrize(
    "point", [pytest.param(n, marks=pytest.mark.slow) if n < 1 else n for n in range(2)]
)
def test_the_process_of_a_world_is_killed_in_the_middle_of_its_work(
    point: int, tmp_path: Path, code: Path, table: FaultsTable, draw: Random
) -> None:
    with ChatServer(went_thrice) as model:
        flow = serving(code, model.url)
        truth = undisturbed(tmp_path, flow)
        ground = Ground(tmp_path, flow)
        process = ground.start()
        killed = 0
        while process.poll() is None and killed < 4:
            time.sleep(draw.uniform(0.1, 0.6))
            found = servers(code)
            if found:
                os.kill(draw.choice(found), signal.SIGKILL)
                killed += 1
        assert killed
        ended = ground.ended(process)
        after_killing(ground, "kill -9 of a world's process (MCP server)", truth, table, ended)


def after_killing(ground: Ground, fault: str, truth: str, table: FaultsTable, ended: str) -> None:
    before = held(ground.url)
    wrong = mislabelled(
        ground.url, truth, frozenset({"environment", "infrastructure"})
    )  # the second: killed before it was ready
    found, whole = rows(ground.url), rows(truth)
    assert not found["trajectories"] - whole["trajectories"]
    assert ground.run().startswith(ended[:8])
    after = held(ground.url)
    assert rows(ground.url) == found
    same = found["trajectories"] == whole["trajectories"]
    rerun = (
        "nothing to do; the rows of an undisturbed run"
        if same
        else "left out what the world broke; the rest is as undisturbed"
    )
    table.note(
        fault,
        before=before.records,
        after=after.records,
        lost=before.lost(after),
        twice=twice(ground.url),
        mislabelled=wrong,
        ended=ended,
        rerun=rerun,
    )


@confined
def test_a_confined_world_that_eats_memory_ends_alone(
    tmp_path: Path, code: Path, table: FaultsTable
) -> None:
    with ChatServer(went_thrice) as model:
        truth = undisturbed(tmp_path, serving(code, model.url))
        start = tmp_path / "start"
        start.mkdir()
        (start / "eat.txt").write_text("")
        ground = Ground(tmp_path, serving(code, model.url, start=start, tasks=2))
        ended = ground.run()
        assert "all ended in faults" in ended
        assert "MemoryError" in ended
        assert not servers(code)
        after_killing(
            ground,
            "a confined world that eats memory",
            truth,
            table,
            "stopped: every attempt ended in a fault of the world",
        )
