"""A world that hangs, eats all memory or whose process dies: its own episodes end in faults, all
others are as they would have been.
"""

import json
import os
import resource
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
from tests.flow_files import echo_flow, model_flow
from tests.synth.models.chat_brains import called
from tests.synth.models.chat_server import ChatServer

pytestmark = pytest.mark.chaos
PYTHON = "/usr/bin/python3"
ROOM = 3 << 29
"""Bytes of its own memory that a run may have which shares its process with a world that eats
memory.
"""


confined = pytest.mark.skipif(
    missing() is not None or not Path(PYTHON).exists(),
    reason=missing() or f"no {PYTHON}: a confined server sees the system's alone",
)


def troubled(trouble: str, mark: Path, step_timeout_s: float = 1) -> Flow:
    env = {
        "name": "tests.chaos.troubled_world:WORLD",
        "tasks": 12,
        "trouble": trouble,
        "while_there": str(mark),
    }
    limits = {"step_timeout_s": step_timeout_s}
    return echo_flow(
        env=env,
        stages=[{"rollout": {"trials": 2, "shard": 8, "limits": limits}}, {"filter": ["solved"]}],
    )


def undisturbed(folder: Path, flow: Flow) -> str:
    """The same flow where the mark of trouble does not lie."""
    ground = Ground(folder / "undisturbed", flow)
    assert ground.run() == "finished"
    return ground.url


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (ROOM, ROOM))


@pytest.mark.parametrize(
    ("trouble", "fault", "rerun", "how"),
    [
        pytest.param(
            "hangs", "timeout", "the rows of an undisturbed run", {}, marks=pytest.mark.slow
        ),
        ("hangs_on_a_thread", "timeout", "the rows of an undisturbed run", {}),
        (
            "allocates",
            "environment",
            "left out what the world broke; the rest is as undisturbed",
            {"preexec_fn": limited},
        ),
    ],
)
def test_a_world_that_hangs_or_eats_memory_costs_its_own_episodes(
    trouble: str, fault: str, rerun: str, how: dict[str, Any], tmp_path: Path, table: FaultsTable
) -> None:
    mark = tmp_path / "trouble"
    flow = troubled(trouble, mark)
    truth = undisturbed(tmp_path, flow)
    mark.touch()
    ground = Ground(tmp_path, flow)
    ended = ground.run(**how)
    before = held(ground.url)
    wrong = mislabelled(ground.url, truth, frozenset({fault}))
    found, whole = rows(ground.url), rows(truth)
    broken = (whole["trajectories"] - found["trajectories"]).total()
    every = whole["trajectories"].total()
    assert 0 < broken <= (every if trouble == "hangs_on_a_thread" else every - 1), (
        "threads that hang may be all that there are"
    )
    assert not found["trajectories"] - whole["trajectories"], (
        "those that were not struck are as they would have been"
    )
    mark.unlink()
    assert ground.run() == "finished"
    after = held(ground.url)
    if fault == "timeout":
        assert rows(ground.url) == whole
    elif ended != "finished":
        # the world left so little that the run itself had none: what was not committed is played
        assert ended.startswith("stopped: out of memory"), ended
        again = rows(ground.url)
        assert not [name for name, one in found.items() if one - again[name]]
        assert not again["trajectories"] - whole["trajectories"]
    else:
        assert rows(ground.url) == found, (
            "a fault of the world would repeat itself: it is tried again under a new version of "
            "the world"
        )
    wrong += mislabelled(ground.url, truth, frozenset({fault}))
    names = {
        "hangs": "a world that hangs",
        "hangs_on_a_thread": "a blocking world that hangs its thread",
        "allocates": "a world that eats memory, under ulimit -d",
    }
    table.note(
        names[trouble],
        before=before.records,
        after=after.records,
        lost=before.lost(after),
        twice=twice(ground.url),
        mislabelled=wrong,
        ended=ended,
        rerun=rerun,
    )


def test_a_world_that_holds_the_event_loop_is_named_and_the_run_can_be_stopped(
    tmp_path: Path, table: FaultsTable
) -> None:
    mark = tmp_path / "trouble"
    flow = troubled("hangs_on_the_loop", mark)
    truth = undisturbed(tmp_path, flow)
    mark.touch()
    ground = Ground(tmp_path, flow)
    process = ground.start(quiet=False)
    time.sleep(9)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=20)
    assert "troubled_world.py" in said
    assert "this code has held up every episode for" in said
    assert process.returncode == 128 + signal.SIGTERM, said
    before = held(ground.url)
    mark.unlink()
    assert ground.run() == "finished"
    after = held(ground.url)
    assert rows(ground.url) == rows(truth)
    table.note(
        "a world that holds the event loop",
        before=before.records,
        after=after.records,
        lost=before.lost(after),
        twice=twice(ground.url),
        mislabelled=mislabelled(ground.url, truth),
        ended="named while it hangs; stopped by SIGTERM: interrupted",
        rerun="the rows of an undisturbed run",
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
