"""The line to a server: its process, JSON messages a line each, and what it may not do to us with
them.
"""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import anyio

from synth.boundary import imported
from synth.confinement import end_inside
from synth.keys.remover import KeyRemover

LONGEST_LINE = 16 << 20
"""Bytes of one message: a server that writes without an end would fill our memory."""
LEAVE_S = 2.0
"""How long a server has to end once nobody writes to it any more."""
LONG_LINE = 64 << 10
"""Bytes of a message from which on reading it would hold up the event loop."""
SHOWN, LOOKED_AT = 100, 4096
"""Characters of a line that is no message that are told, and those in which keys are looked for
before it is cut.
"""
LONGEST_WORDS = 300
LAST_WORDS = 64 << 10
"""Bytes of what it said in the end that keys are looked for in, before all but its last words are
cut off.
"""
_TELLING = re.compile(r"^.*\b(?:\w*Error|\w*Exception|error|panic|fatal)\b.*$", re.MULTILINE)
"""The line of a server's last words that says most."""
EXTRA = "the library of MCP worlds (pip install -c constraints.txt -e '.[mcp]')"


class Connection:
    """A server's process. `streams` are what the library's session reads and writes; `amiss` is
    what was wrong with what it wrote.
    """

    def __init__(self, process: asyncio.subprocess.Process, streams: tuple[Any, Any]) -> None:
        self.process = process
        self.streams = streams
        self.amiss: str | None = None


@dataclass(frozen=True)
class ServerCommand:
    """What is started, with which environment; `inherited` are descriptors that it gets."""

    words: Sequence[str]
    environment: Mapping[str, str]
    inherited: Sequence[int] = ()


@asynccontextmanager
async def connected(
    command: ServerCommand, folder: Path, errors: IO[str], keys: KeyRemover
) -> AsyncIterator[Connection]:
    """Starts the server in `folder`, and ends it with all that it started. Raises `OSError` where
    there is no such program.

    The `keys` are taken out of each of its messages before anything else reads it.
    """

    process = await asyncio.create_subprocess_exec(
        *command.words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=errors,
        env=dict(command.environment),
        cwd=folder,
        limit=LONGEST_LINE,
        start_new_session=True,
        pass_fds=tuple(command.inherited),
    )
    to_session, reading = anyio.create_memory_object_stream[Any](0)
    writing, from_session = anyio.create_memory_object_stream[Any](0)
    found = Connection(process, (reading, writing))
    tasks = [
        asyncio.create_task(_read(found, to_session, keys)),
        asyncio.create_task(_write(process, from_session, to_session)),
    ]
    try:
        yield found
    finally:
        await _ended(process)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for stream in (to_session, reading, writing, from_session):
            stream.close()


async def _read(found: Connection, to_session: Any, keys: KeyRemover) -> None:
    """What is no message is left out, and remembered."""

    adapter, message = (
        imported(EXTRA, "mcp.types:jsonrpc_message_adapter"),
        imported(EXTRA, "mcp.shared.message:SessionMessage"),
    )
    output = found.process.stdout
    if output is None:
        raise RuntimeError("the server was started without a pipe")
    with to_session, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        while True:
            try:
                line = await output.readline()
            except ValueError:
                found.amiss = f"wrote a line of more than {LONGEST_LINE >> 20} MB"
                return

            if not line:
                return
            try:
                written = await _without(keys, line)
                said = message(adapter.validate_python(written, by_name=False))
            except (ValueError, RecursionError):
                shown = keys.clean_text(line[:LOOKED_AT].decode("utf-8", "replace").strip())[:SHOWN]
                found.amiss = f"wrote to stdout what is no message: {shown!r}"
                continue

            await to_session.send(said)


async def _without(keys: KeyRemover, line: bytes) -> Any:
    """What a line says in JSON, without the keys; a long one is read beside the event loop. Raises
    `ValueError` for what is no JSON.
    """

    def read() -> Any:
        return keys.cleaned(json.loads(line.decode("utf-8", "replace")))

    return read() if len(line) <= LONG_LINE else await asyncio.to_thread(read)


async def _write(process: asyncio.subprocess.Process, from_session: Any, to_session: Any) -> None:
    """Where the server reads no more, the session is told that it is gone."""

    if process.stdin is None:
        raise RuntimeError("the server was started without a pipe")
    try:
        async for said in from_session:
            process.stdin.write(
                said.message.model_dump_json(by_alias=True, exclude_unset=True).encode(
                    "utf-8", "replace"
                )
                + b"\n"
            )
            await process.stdin.drain()
    except OSError:
        to_session.close()


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()

    with suppress(TimeoutError):
        await asyncio.wait_for(_exited(process), LEAVE_S)

    # those inside first: their parent then sees their end, and nobody is left to anybody else
    if process.returncode is None and end_inside(process.pid):
        with suppress(TimeoutError):
            await asyncio.wait_for(_exited(process), LEAVE_S)

    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)

    await asyncio.wait([asyncio.create_task(_exited(process))], timeout=LEAVE_S)
    transport: Any = getattr(
        process, "_transport", None
    )  # its pipes stay open where something that it started lives on
    if transport is not None:
        transport.close()


async def _exited(process: asyncio.subprocess.Process) -> None:
    """`Process.wait` also waits for the pipes, which what it started may hold open."""
    while process.returncode is None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def last_words(said: IO[str], keys: KeyRemover) -> str:
    """The line on stderr that names an error, where there is one, else the end."""

    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - LAST_WORDS))
    text = keys.clean_text(said.read())[-20 * LONGEST_WORDS :]
    lines = _TELLING.findall(text)
    if lines:
        return " ".join(lines[-1].split())[:LONGEST_WORDS]

    return " ".join(text[-LONGEST_WORDS:].split())


def first_cause(error: BaseException) -> str:
    """The first cause in a group of exceptions, in one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
