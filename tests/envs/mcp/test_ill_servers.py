"""Servers that misbehave, each a real confined process: one clear line, the limits hold, and the
next episode goes on.
"""

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from synth.boundary import FaultError
from synth.confinement import missing
from synth.confinement.cgroups import cgroup_folders, no_cgroups
from synth.confinement.keeper.stale import mark
from synth.envs.mcp.answers import LONGEST_ANSWER
from synth.envs.mcp.env import McpEnv
from synth.envs.mcp.server import McpServer, McpServerError
from synth.envs.mcp.settings import McpSettings
from synth.schemas.environment import AgentTurn
from synth.schemas.errors import ConfigError
from synth.schemas.outcome import Fault
from synth.schemas.trajectory import Observation, ToolCall

PYTHON = "/usr/bin/python3"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.skipif(not Path(PYTHON).exists(), reason="no python3 in /usr/bin"),
]
GO = AgentTurn(tool_calls=(ToolCall.received("c", "go", "{}"),))


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """Where worlds, which run as another user, can read the server."""
    folder = tmp_path / "code"
    folder.mkdir()
    shutil.copy(Path(__file__).parent / "ill_server.py", folder)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o755)
    return folder


def settings(code: Path, kind: str, **changes: Any) -> McpSettings:
    raw = {
        "command": [PYTHON, str(code / "ill_server.py"), kind],
        "read_only": [str(code)],
        "call_s": 15,
        "start_s": 30,
    }
    return McpSettings.model_validate(
        {**raw, "limits": {"disk_mb": 20, "memory_mb": 150}, **changes}
    )


def answer_of(env: McpEnv) -> Observation:
    async def played() -> Observation:
        await env.reset(None)
        (seen,) = (await env.step(GO)).observations
        await env.reset(None)
        await env.close()
        return seen

    return asyncio.run(played())


@pytest.mark.parametrize(
    ("kind", "changes", "fault", "what"),
    [
        (
            "does not start",
            {},
            Fault.INFRASTRUCTURE,
            r"did not start.*it said: ModuleNotFoundError: No module named 'gone'",
        ),
        (
            "only garbage",
            {"start_s": 2},
            Fault.INFRASTRUCTURE,
            r"was not ready in time; it wrote to stdout what is no message: 'hello'",
        ),
        ("pages without end", {}, Fault.INFRASTRUCTURE, r"lists more than 2000 tools"),
        ("hangs", {"call_s": 3}, Fault.TIMEOUT, r"gave no answer in 3 s"),
        ("dies", {}, Fault.ENVIRONMENT, r"died while it answered go; it said: Error: going down"),
        ("endless line", {}, Fault.ENVIRONMENT, r"wrote a line of more than 16 MB"),
    ],
)
def test_what_only_the_server_can_mend_is_a_fault_in_one_line(
    code: Path, kind: str, changes: dict[str, Any], fault: Fault, what: str
) -> None:
    with pytest.raises(FaultError, match=what) as found:
        answer_of(McpEnv(settings(code, kind, **changes)))
    assert (found.value.fault, "\n" in found.value.detail) == (fault, False)


def test_a_server_without_tools_is_told_to_the_user(code: Path) -> None:
    with pytest.raises(ConfigError, match="lists no tools"):
        answer_of(McpEnv(settings(code, "no tools")))
    with pytest.raises(ConfigError, match=r"but those that `without` leaves out \(go\)"):
        answer_of(McpEnv(settings(code, "garbage", without=["go"])))


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("grows", "folder holds more than 20 MB"),
        ("deleted", "folder holds more than 20 MB"),
        ("folders", "more than 5000 files"),
        ("shared memory", "more than 150 MB of memory"),
    ],
)
def test_what_outgrows_its_limits_is_an_error_that_the_agent_can_read(
    code: Path, kind: str, what: str
) -> None:
    seen = answer_of(McpEnv(settings(code, kind)))
    assert (seen.error, what in seen.content) == (True, True), seen.content


@pytest.mark.skipif(no_cgroups(), reason="no cgroups here")
def test_what_is_held_for_a_moment_alone_counts_too_and_no_group_is_left(code: Path) -> None:
    seen = answer_of(McpEnv(settings(code, "burst")))
    assert (seen.error, "more than 150 MB of memory" in seen.content) == (True, True), seen.content
    folders = [Path(folder) for folder in cgroup_folders()]
    assert not any(place.name.startswith(mark()) for each in folders for place in each.iterdir())


def test_a_fork_bomb_stops_at_the_limit_and_the_server_answers(code: Path) -> None:
    changes = {"limits": {"processes": 30, "memory_mb": 400}}
    seen = answer_of(McpEnv(settings(code, "bomb", **changes)))
    assert 15 < int(seen.content) <= 33, seen.content


def test_lines_that_are_no_messages_and_text_that_is_no_utf8_are_lived_with(code: Path) -> None:
    assert answer_of(McpEnv(settings(code, "garbage"))).content == "ok"
    assert answer_of(McpEnv(settings(code, "not utf-8"))).content == "caf\ufffd"


def test_a_long_answer_is_cut_and_says_so(code: Path) -> None:
    seen = answer_of(McpEnv(settings(code, "long"))).content
    assert (
        seen[LONGEST_ANSWER:] == f"\n[{10_000_000 - LONGEST_ANSWER} characters more are not shown]"
    )


def test_an_answer_that_the_flow_calls_a_refusal_is_an_error(code: Path) -> None:
    assert answer_of(McpEnv(settings(code, "", refused=["^ok$"]))).error
    assert not answer_of(McpEnv(settings(code, ""))).error


def test_tools_on_several_pages_and_five_hundred_tools(code: Path) -> None:
    async def opened(kind: str) -> tuple[list[str], str]:
        env = McpEnv(settings(code, kind))
        opening = await env.reset(None)
        wrong = await env.step(AgentTurn(tool_calls=(ToolCall.received("c", "nothing", "{}"),)))
        await env.close()
        return [tool["function"]["name"] for tool in opening.tools], wrong.observations[0].content

    assert asyncio.run(opened("pages"))[0] == ["go", "later"]
    names, wrong = asyncio.run(opened("many"))
    assert (len(names), "and 470 more" in wrong, len(wrong) < 2000) == (500, True, True)


def test_arguments_of_any_depth_are_answered(code: Path) -> None:
    async def played() -> None:
        env = McpEnv(settings(code, ""))
        await env.reset(None)
        nested = '{"a": ' + "[" * 400 + "]" * 400 + "}"
        (seen,) = (
            await env.step(AgentTurn(tool_calls=(ToolCall.received("c", "go", nested),)))
        ).observations
        assert (seen.error, "deep" in seen.content) == (True, True)
        assert (await env.step(GO)).observations[0].content == "ok"
        await env.close()

    asyncio.run(played())


def test_a_pipe_and_a_link_in_the_folder_are_facts(code: Path) -> None:
    async def played() -> None:
        env = McpEnv(settings(code, "pipe"))
        await env.reset(None)
        await env.step(GO)
        aside = await env.snapshot()
        facts = await env.facts()
        assert {facts["file/pipe/is"], facts["file/link/link"]} == {"pipe", "/etc/passwd"}
        assert b"root:" not in aside.blob
        await env.restore(aside)
        assert await env.facts() == facts
        await env.close()

    asyncio.run(played())


def test_what_an_episode_left_running_does_not_reach_the_next_one(code: Path) -> None:
    async def played() -> None:
        config = settings(code, "leaves work", stateless=True)
        first = McpEnv(config)
        await first.reset(None)
        await first.step(GO)
        await asyncio.sleep(0.5)
        await first.close()
        second = McpEnv(config)
        await second.reset(None)
        await asyncio.sleep(0.5)
        assert await second.facts() == {}
        await second.close()

    asyncio.run(played())


def test_no_secret_of_ours_is_in_the_servers_environment(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-123")
    allowed = {"PATH", "HOME", "LANG", "PWD", "LC_CTYPE"}
    assert set(json.loads(answer_of(McpEnv(settings(code, "environment"))).content)) <= allowed
    assert (
        set(json.loads(answer_of(McpEnv(settings(code, "environment", unconfined=True))).content))
        <= allowed
    )


def test_a_command_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    async def started() -> None:
        with pytest.raises(McpServerError, match=r"did not start.*nosuchserver"):
            await McpServer(McpSettings(command=("nosuchserver",)), tmp_path).start()
        with pytest.raises(McpServerError, match=r"did not start.*nosuchserver"):
            await McpServer(
                McpSettings(command=("nosuchserver",), unconfined=True), tmp_path
            ).start()

    asyncio.run(started())
