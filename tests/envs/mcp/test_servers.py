"""Two public MCP servers as worlds, confined: tasks from explorations, rollouts, audit; and servers that misbehave."""

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envs.mcp.env import McpEnv
from envs.mcp.server import McpServer, ServerError
from envs.mcp.settings import McpSettings
from schemas.environment import AgentTurn
from schemas.errors import ConfigError
from schemas.flow import Flow
from schemas.trajectory import ToolCall
from synth.confinement import missing
from synth.ledger.views import connect
from tests.flow_files import run_flow

INSTALLED = Path(os.environ.get("SYNTH_MCP_SERVERS", "nowhere")) / "node_modules"
PLACE = Path(tempfile.gettempdir()) / f"synth-mcp-servers-{os.getuid()}"
NODE_MODULES = PLACE / "node_modules"
"""A copy that any user may read: worlds run as another one."""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.skipif(not INSTALLED.exists(), reason="SYNTH_MCP_SERVERS names no installed servers: run them by `make test-slow`"),
]


@pytest.fixture(scope="module", autouse=True)
def servers() -> Iterator[None]:
    PLACE.mkdir(mode=0o755, exist_ok=True)
    shutil.copytree(INSTALLED, NODE_MODULES, symlinks=True, dirs_exist_ok=True)
    yield
    shutil.rmtree(PLACE)


def settings(server: str, **changes: Any) -> dict[str, Any]:
    script = NODE_MODULES / "@modelcontextprotocol" / f"server-{server}" / "dist" / "index.js"
    own: dict[str, Any] = {"command": ["node", str(script), "/world"], "read_only": [str(NODE_MODULES)], "stateless": True}
    if server == "filesystem":
        own |= {"without": ["get_file_info"], "masked": [r"\.[0-9a-f]{32}\.tmp"]}  # times, and names of temporary files
    if server == "memory":
        own |= {"command": ["node", str(script)], "environment": {"MEMORY_FILE_PATH": "/world/memory.jsonl"}}
    return own | changes


def call(name: str, **arguments: Any) -> AgentTurn:
    return AgentTurn(tool_calls=(ToolCall.received("c", name, json.dumps(arguments)),))


def flow(server: str, start: Path, explorations: int) -> Flow:
    env = {"name": "mcp", "tasks": 0, "folder": str(start), **settings(server)}
    stages = [
        {"reverse_task": {"explorations": explorations, "steps": 12}},
        {"rollout": {"trials": 2}},
        {"filter": ["solved", "reexecuted"]},
    ]
    return Flow.model_validate({"name": server, "seed": 5, "env": env, "models": {"explorer": {"policy": "random"}}, "stages": stages})


@pytest.fixture
def start(tmp_path: Path) -> Path:
    folder = tmp_path / "start"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "monday.md").write_text("# Monday\nbuy lamps\ncall Ada\n")
    (folder / "todo.txt").write_text("paint the fence\nwater the ferns\n")
    lines = [{"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]},
             {"type": "entity", "name": "Grove", "entityType": "house", "observations": []},
             {"type": "relation", "from": "Ada", "to": "Grove", "relationType": "owns"}]  # fmt: skip
    (folder / "memory.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.mark.parametrize("server", ["filesystem", "memory"])
def test_tasks_are_derived_and_played_and_what_was_played_can_be_executed_again(server: str, start: Path, tmp_path: Path) -> None:
    run, reports, _ = run_flow(flow(server, start, 4), str(tmp_path / "run"))
    assert reports["reverse_task"]["verified"] >= 2, reports["reverse_task"]
    with connect(run.ledger) as connection:
        goals = connection.execute('SELECT goal, "check" FROM tasks').fetchall()
        verdicts = connection.execute("SELECT keep, reason, count(*) FROM decisions WHERE filter = 'reexecuted' GROUP BY ALL").fetchall()
    assert all(json.loads(check)["required"] for _, check in goals)
    assert {(keep, reason) for keep, reason, _ in verdicts} == {(True, "same")}, "the same acts give the same observations in a new server"


def test_every_call_is_answered_and_a_snapshot_is_the_folder(start: Path) -> None:
    async def played() -> None:
        env = McpEnv(McpSettings.model_validate({**settings("filesystem"), "folder": str(start)}))
        await env.reset(None)
        before = await env.facts()
        answers = [
            await env.step(turn)
            for turn in (
                call("write_file", path="/world/new.txt", content="x"), call("read_file", path="/etc/passwd"), call("nothing"),
                call("write_file"), AgentTurn(tool_calls=(ToolCall.received("c", "write_file", "{"),)), AgentTurn(),
            )
        ]  # fmt: skip
        assert [answer.observations[0].error for answer in answers] == [False, True, True, True, True, True]
        assert not any("root:" in answer.observations[0].content for answer in answers)
        aside = await env.snapshot()
        await env.step(call("write_file", path="/world/todo.txt", content="other"))
        await env.restore(aside)
        facts = await env.facts()
        assert facts == {**before, "file/new.txt/content": "x"}
        done = await env.step(AgentTurn("Done."))
        assert done.done
        assert (await env.step(call("read_file", path="/world/new.txt"))).observations[0].error
        await env.close()

    asyncio.run(played())


def test_the_start_folder_is_never_touched_and_a_changed_one_is_refused(start: Path) -> None:
    from envs.mcp.folder import start_digest

    async def played() -> None:
        digest = start_digest(start)
        env = McpEnv(McpSettings.model_validate({**settings("filesystem"), "folder": str(start), "digest": digest}))
        await env.reset(None)
        await env.step(call("write_file", path="/world/todo.txt", content="other"))
        assert start_digest(start) == digest
        (start / "todo.txt").write_text("changed")
        with pytest.raises(ConfigError, match="was changed since"):
            await env.reset(None)
        await env.close()

    asyncio.run(played())


SERVER = """
import json, os, sys, time
kind = sys.argv[1]
tool = {"name": "go", "description": "", "inputSchema": {"type": "object", "properties": {}}}
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        found = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        found["serverInfo"] = {"name": "t", "version": "1"}
    elif asked.get("method") == "tools/list":
        found = {"tools": [tool]}
    elif asked.get("method") == "tools/call":
        if kind == "hangs": time.sleep(60)
        if kind == "dies": print("going down", file=sys.stderr); os._exit(3)
        if kind == "grows":
            for i in range(200):
                open(f"big{i}", "wb").write(bytes(1_000_000)); time.sleep(0.02)
        text = json.dumps(sorted(os.environ)) if kind == "environment" else "ok"
        found = {"content": [{"type": "text", "text": text}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": found}), flush=True)
"""


def own(tmp_path: Path, kind: str) -> McpSettings:
    folder = tmp_path / "code"
    folder.mkdir(exist_ok=True)
    (folder / "server.py").write_text(SERVER)
    command = ["/usr/bin/python3", str(folder / "server.py"), kind]
    raw = {"command": command, "read_only": [str(folder)], "call_s": 3, "limits": {"disk_mb": 20}}
    return McpSettings.model_validate(raw)


def reachable(tmp_path: Path) -> None:
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o755)


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no python3 in /usr/bin")
@pytest.mark.parametrize(("kind", "what"), [("hangs", "gave no answer in 3 s"), ("dies", "going down")])
def test_a_server_that_hangs_or_dies_is_a_fault_that_says_so_and_the_next_episode_goes_on(tmp_path: Path, kind: str, what: str) -> None:
    reachable(tmp_path)

    async def played() -> None:
        env = McpEnv(own(tmp_path, kind))
        await env.reset(None)
        with pytest.raises(ServerError, match=what):
            await env.step(call("go"))
        await env.reset(None)
        await env.close()

    asyncio.run(played())


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no python3 in /usr/bin")
def test_a_full_disk_is_an_error_that_the_agent_can_read(tmp_path: Path) -> None:
    reachable(tmp_path)

    async def played() -> None:
        env = McpEnv(own(tmp_path, "grows"))
        await env.reset(None)
        answer = await env.step(call("go"))
        assert (answer.observations[0].error, "The disk is full" in answer.observations[0].content) == (True, True)
        await env.close()

    asyncio.run(played())


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no python3 in /usr/bin")
def test_no_secret_of_ours_is_in_the_servers_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-123")
    reachable(tmp_path)

    async def played() -> None:
        env = McpEnv(own(tmp_path, "environment"))
        await env.reset(None)
        answer = await env.step(call("go"))
        names = set(json.loads(answer.observations[0].content))
        assert names <= {"PATH", "HOME", "LANG", "PWD", "LC_CTYPE"}
        await env.close()

    asyncio.run(played())


def test_a_command_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    async def started() -> None:
        with pytest.raises(ServerError, match=r"did not start.*nosuchserver"):
            await McpServer(McpSettings(command=("nosuchserver",)), tmp_path).start()

    asyncio.run(started())
