"""Public MCP servers as worlds, confined: two from npm, one from pip. Tasks from explorations,
rollouts, audit.
"""

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from synth.confinement import missing
from synth.envs.mcp.env import McpEnv
from synth.envs.mcp.settings import McpConfig, McpSettings
from synth.ledger.views import connect
from synth.schemas.environment import AgentTurn
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.trajectory import ToolCall
from tests.flow_files import SYNTH, run_flow
from tests.rounds import rounds

INSTALLED = Path(os.environ.get("SYNTH_MCP_SERVERS", "nowhere"))
PYTHON = "/usr/bin/python3"
PLACE = Path(tempfile.gettempdir()) / f"synth-mcp-servers-{os.getpid()}"
"""A copy that any user may read: worlds run as another one."""
NODE_MODULES, PACKAGES = PLACE / "node_modules", PLACE / "python"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.skipif(
        not INSTALLED.exists(),
        reason="SYNTH_MCP_SERVERS names no installed servers: run them by `make test-slow`",
    ),
]


@pytest.fixture(scope="module", autouse=True)
def servers() -> Iterator[None]:
    PLACE.mkdir(mode=0o755, exist_ok=True)
    for folder in (NODE_MODULES, PACKAGES):
        if (INSTALLED / folder.name).exists():
            shutil.copytree(INSTALLED / folder.name, folder, symlinks=True, dirs_exist_ok=True)
    yield
    shutil.rmtree(PLACE)


def settings(server: str, **changes: Any) -> dict[str, Any]:
    if server == "sqlite":
        if not PACKAGES.exists():
            pytest.skip("the server from pip is not installed: there is no /usr/bin/python3")
        code = "from mcp_server_sqlite import main; main()"
        own: dict[str, Any] = {
            "command": [PYTHON, "-c", code, "--db-path", "/world/shop.db"],
            "environment": {"PYTHONPATH": str(PACKAGES)},
        }
        own |= {
            "read_only": [str(PACKAGES)],
            "without": ["append_insight"],
            "refused": ["^(Database error|Error):"],
            "stateless": True,
        }
        return own | changes
    if not NODE_MODULES.exists():
        pytest.skip("the servers from npm are not installed: there is no npm")
    script = NODE_MODULES / "@modelcontextprotocol" / f"server-{server}" / "dist" / "index.js"
    own = {
        "command": ["node", str(script), "/world"],
        "read_only": [str(NODE_MODULES)],
        "stateless": True,
    }
    if server == "filesystem":
        own |= {
            "without": ["get_file_info"],
            "masked": [r"\.[0-9a-f]{32}\.tmp"],
        }  # times, and names of temporary files
    if server == "memory":
        own |= {
            "command": ["node", str(script)],
            "environment": {"MEMORY_FILE_PATH": "/world/memory.jsonl"},
        }
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
    return Flow.model_validate(
        {
            "name": server,
            "seed": 5,
            "env": env,
            "models": {"explorer": {"policy": "random"}},
            "stages": stages,
        }
    )


@pytest.fixture
def start(tmp_path: Path) -> Path:
    folder = tmp_path / "start"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "monday.md").write_text("# Monday\nbuy lamps\ncall Ada\n")
    (folder / "todo.txt").write_text("paint the fence\nwater the ferns\n")
    lines = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]},
        {"type": "entity", "name": "Grove", "entityType": "house", "observations": []},
        {"type": "relation", "from": "Ada", "to": "Grove", "relationType": "owns"},
    ]
    (folder / "memory.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with closing(sqlite3.connect(folder / "shop.db")) as database:
        database.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT)")
        database.executemany(
            "INSERT INTO customers VALUES (?, ?, ?)",
            [(1, "Ada", "Ghent"), (2, "Bo", "Turin"), (3, "Cleo", "Cork")],
        )
        database.commit()
    return folder


AUDITED = ("tasks", "determinism", "bots", "mutants", "alternatives", "errors", "upkeep")


@pytest.mark.parametrize("server", rounds(nightly=["memory", "filesystem", "sqlite"]))
def test_tasks_are_derived_and_played_and_what_was_played_can_be_executed_again(
    server: str, start: Path, tmp_path: Path
) -> None:
    place = str(tmp_path / "run")
    run, reports, _ = run_flow(flow(server, start, 4), place)
    assert reports["reverse_task"]["verified"] >= 2, reports["reverse_task"]
    with connect(run.ledger) as connection:
        goals = connection.execute('SELECT goal, "check" FROM tasks').fetchall()
        verdicts = connection.execute(
            "SELECT keep, reason, count(*) FROM decisions WHERE filter = 'reexecuted' GROUP BY ALL"
        ).fetchall()
    assert all(json.loads(check)["required"] for _, check in goals)
    assert {(keep, reason) for keep, reason, _ in verdicts} == {(True, "same")}, (
        "the same acts give the same observations in a new server"
    )
    only = [word for question in AUDITED for word in ("--only", question)]
    found = subprocess.run(
        [
            *SYNTH,
            "audit",
            "mcp",
            "--from",
            place,
            "--tasks",
            "2",
            "--call-ms",
            "20000",
            "--limit-s",
            "400",
            *only,
            "--json",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    audited = json.loads(found.stdout)
    assert (found.returncode, audited["failed"], audited["tasks"]) == (0, [], 2), found.stdout
    asked = {
        part["name"]: part["passed"]
        for question in audited["questions"]
        for part in question["parts"]
    }
    assert asked["mutants_are_killed"], "the gold calls of derived tasks stand in for an expert"
    assert asked["other_strategies_pass"] is None
    assert all(
        asked[name]
        for name in (
            "tasks_by_seed",
            "fresh_process",
            "instances_are_apart",
            "hostile_input",
            "facts_match_patterns",
        )
    )


def test_every_call_is_answered_and_a_snapshot_is_the_folder(start: Path) -> None:
    async def played() -> None:
        env = McpEnv(McpSettings.model_validate({**settings("filesystem"), "folder": str(start)}))
        await env.reset(None)
        before = await env.facts()
        answers = [
            await env.step(turn)
            for turn in (
                call("write_file", path="/world/new.txt", content="x"),
                call("read_file", path="/etc/passwd"),
                call("nothing"),
                call("write_file"),
                AgentTurn(tool_calls=(ToolCall.received("c", "write_file", "{"),)),
                AgentTurn(),
            )
        ]
        assert [answer.observations[0].error for answer in answers] == [
            False,
            True,
            True,
            True,
            True,
            True,
        ]
        assert not any("root:" in answer.observations[0].content for answer in answers)
        aside = await env.snapshot()
        await env.step(call("write_file", path="/world/todo.txt", content="other"))
        await env.restore(aside)
        facts = await env.facts()
        assert facts == {**before, "file/new.txt/content": "x", "file/new.txt/@path": "new.txt"}
        done = await env.step(AgentTurn("Done."))
        assert done.done
        assert (await env.step(call("read_file", path="/world/new.txt"))).observations[0].error
        await env.close()

    asyncio.run(played())


def test_the_start_folder_is_never_touched_and_a_changed_one_is_refused(start: Path) -> None:
    from synth.envs.mcp.state.folder import start_digest

    async def played() -> None:
        digest = start_digest(start)
        env = McpEnv(
            McpSettings.model_validate({**settings("filesystem"), "folder": str(start)}),
            McpConfig(digest=digest),
        )
        await env.reset(None)
        await env.step(call("write_file", path="/world/todo.txt", content="other"))
        assert start_digest(start) == digest
        (start / "todo.txt").write_text("changed")
        with pytest.raises(ConfigError, match="was changed since"):
            await env.reset(None)
        await env.close()

    asyncio.run(played())


def test_a_world_that_makes_no_tasks_says_whence_to_take_some_and_one_that_does_not_start_why(
    tmp_path: Path,
) -> None:
    def audited(*words: str) -> tuple[int, str]:
        found = subprocess.run(
            [*SYNTH, "audit", "mcp", *words, "-q"], capture_output=True, text=True, check=False
        )
        return found.returncode, found.stdout + found.stderr

    code, said = audited("--set", "command=[nosuchserver]")
    assert (code, "synth audit --from RUN" in said) == (1, True), said
    tasks = tmp_path / "tasks.yaml"
    tasks.write_text(
        '- goal: Make b.\n  check: {required: [{table: file, where: {id: b, content: "y"}}]}\n'
    )
    code, said = audited("--set", "command=[nosuchserver]", "--set", f"task_file={tasks}")
    assert (
        code,
        "nothing can be asked" in said,
        "did not start" in said,
        said.count("nosuchserver"),
    ) == (1, True, True, 2), said
    code, said = audited("--from", str(tmp_path / "nothing"))
    assert (code, said.count("\n")) == (2, 1), said
