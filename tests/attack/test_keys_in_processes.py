"""The key of a world's process stands in no command line, and in nothing that the world's server
says: real servers, confined and not.
"""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synth.boundary import FaultError
from synth.confinement import missing, tree
from synth.envs.mcp.env import McpEnv
from synth.envs.mcp.server import McpServer
from synth.envs.mcp.settings import McpSettings
from synth.schemas.environment import AgentTurn
from synth.schemas.errors import ConfigError
from synth.schemas.trajectory import ToolCall
from tests.attack.key_echoes import told

PYTHON = "/usr/bin/python3"
KEY = "tok_Zq8/Lw+4711xYpT.v2=Kd93"
pytestmark = [
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.skipif(not Path(PYTHON).exists(), reason="no python3 in /usr/bin"),
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where worlds can read the server: they run as another user, whom pytest's own folders are
    closed to.
    """
    monkeypatch.setenv("MY_SHOP_TOKEN", KEY)
    with tempfile.TemporaryDirectory(prefix="synth-attack-") as name:
        Path(name).chmod(0o755)
        shutil.copy(Path(__file__).parent / "telling_server.py", name)
        yield Path(name, "telling_server.py")


def settings(server: Path, *arguments: str, **changes: Any) -> McpSettings:
    raw = {
        "command": [PYTHON, str(server), *arguments],
        "read_only": [str(server.parent)],
        "start_s": 20,
    }
    return McpSettings.model_validate(
        {**raw, "environment": {"SHOP_TOKEN": {"from_env": "MY_SHOP_TOKEN"}}, **changes}
    )


def call(name: str) -> AgentTurn:
    return AgentTurn(tool_calls=(ToolCall.received("c", name, '{"name": "fern"}'),))


def holds_it(process: int) -> bool:
    """Whether the environment of a process holds the key, as its own user may see."""
    environ = Path(f"/proc/{process}/environ")
    return environ.exists() and KEY.encode() in environ.read_bytes()


def command_lines() -> dict[str, str]:
    """What another user of this machine can read of every process."""
    script = (
        'for p in /proc/[0-9]*; do printf "%s " "$p"; tr "\\0" " " < "$p/cmdline"; echo; cat '
        '"$p/environ" 2> /dev/null; done; ps axewww'
    )
    stranger = (
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    )
    ours = subprocess.run(
        ["/bin/sh", "-c", script.split("; cat")[0] + "; done"], capture_output=True, check=False
    ).stdout
    theirs = subprocess.run(
        [*stranger, "/bin/sh", "-c", script],
        capture_output=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    ).stdout
    return {
        "ours": ours.decode("latin-1"),
        "theirs": theirs.decode("latin-1") if stranger else ours.decode("latin-1"),
    }


@pytest.mark.parametrize("unconfined", [False, True])
def test_no_command_line_shows_the_key_while_the_server_starts_and_lives(
    server: Path, unconfined: bool
) -> None:
    world = server.parent / "world"
    world.mkdir()
    world.chmod(0o755)
    given = settings(server, unconfined=unconfined)

    async def looked() -> list[dict[str, str]]:
        running = McpServer(given, world)
        starting = asyncio.create_task(running.start())
        seen = []
        while not starting.done():
            seen.append(await asyncio.to_thread(command_lines))
        await starting
        seen.append(await asyncio.to_thread(command_lines))
        told_inside = await running.call("put", {"name": "a"})
        processes = tree(running._connection.process.pid)  # type: ignore[union-attr]
        assert len(processes) >= (1 if unconfined else 2)
        assert any(map(holds_it, processes)), "the server has its key"
        assert "stored a" in str(told_inside)
        await running.end()
        return seen

    seen = asyncio.run(looked())
    assert all("telling_server.py" in "".join(one.values()) for one in seen[-1:])
    for one in seen:
        for who, lines in one.items():
            assert not told(lines, KEY, 1), who


@pytest.mark.parametrize("unconfined", [False, True])
def test_nothing_that_a_server_says_holds_the_key(server: Path, unconfined: bool) -> None:
    """Tools, answers, refusals, files that it writes, the facts made of them, the calls drawn from
    them, its end.
    """
    given = settings(server, unconfined=unconfined)

    async def heard() -> list[str]:
        env = McpEnv(given)
        said = [repr(await env.reset(None)), repr(await env.affordances())]
        for name in ("put", "fail", "cut"):
            said += [
                repr(await env.step(call(name))),
                repr(await env.facts()),
                repr(await env.affordances()),
            ]
        with pytest.raises(FaultError) as died:
            await env.step(call("break"))
        assert "no connection with <MY_SHOP_TOKEN>" in died.value.detail
        said += [died.value.detail, repr(died.value.__cause__)]
        await env.close()
        return said

    said = asyncio.run(heard())
    assert sum("<MY_SHOP_TOKEN>" in one for one in said) >= 8
    for one in said:
        assert not told(one, KEY)


@pytest.mark.parametrize(
    ("kind", "words"),
    [("does not start", "bad token <MY_SHOP_TOKEN>"), ("garbage", "my token is <MY_SHOP_TOKEN>")],
)
def test_a_server_that_fails_tells_no_key(server: Path, kind: str, words: str) -> None:
    async def opened() -> None:
        env = McpEnv(settings(server, kind, start_s=2))
        try:
            await env.reset(None)
        finally:
            await env.close()

    with pytest.raises(FaultError) as found:
        asyncio.run(opened())
    assert words in found.value.detail
    assert not told(f"{found.value.detail}{found.value.__cause__!r}", KEY)


def test_a_variable_that_is_not_set_is_told_in_one_line(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MY_SHOP_TOKEN")
    with pytest.raises(
        ConfigError,
        match=r"^env\.environment\.SHOP_TOKEN: the environment variable MY_SHOP_TOKEN is not set; "
        r"export it",
    ):
        asyncio.run(McpEnv(settings(server)).reset(None))


def test_what_has_no_key_is_started_as_before(server: Path) -> None:
    """And no descriptor of ours is left open by starts that fail."""
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        with pytest.raises(FaultError):
            asyncio.run(McpEnv(settings(server, "does not start", start_s=2)).reset(None))
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # noqa: PTH208
