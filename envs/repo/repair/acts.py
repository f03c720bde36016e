"""What can be called, as a person would write it: looks, runs of tests, edits."""

import shlex
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

import msgspec

from synth.envs.data_file import data_file
from synth.envs.repo.pool import Engine
from synth.envs.repo.repair.hunks import Hunk, hunks
from synth.schemas import AgentTurn, ToolCall

Act = tuple[str, dict[str, str]]
"""A tool and its arguments."""
AROUND = 12
"""Lines that are looked at before and after a place."""
MOST_HUNKS = 12
"""A file that needs more edits is written as a whole."""
LONGEST_COMMAND = 28_000


class _Commands(msgspec.Struct, frozen=True):
    """Commands by what they are for, and by language."""

    look_around: Mapping[Engine, tuple[str, ...]]
    run_tests: Mapping[Engine, str]
    run_quietly: Mapping[Engine, str]
    search: Mapping[Engine, str]
    search_uses: Mapping[Engine, str]
    write_file: str
    remove_file: str


@cache
def words() -> _Commands:
    """The commands, read once."""
    return msgspec.convert(data_file("repo/acts"), _Commands)


def bash(command: str, **parts: str) -> Act:
    """A command, its parts filled in."""
    quoted = {name: shlex.quote(part) for name, part in parts.items()}
    return "bash", {"command": command.format(**quoted) if parts else command}


def search(command: str, name: str) -> Act:
    """A search for a name, which is a word and needs no quotes."""
    return "bash", {"command": command.replace("{name}", name)}


def view(path: str, first: int, last: int) -> Act:
    """A look at some lines and what stands around them."""
    return "view", {"path": path, "lines": f"{max(first - AROUND, 1)}-{last + AROUND}"}


def replace(path: str, hunk: Hunk) -> Act:
    """An edit."""
    return "replace", {"path": path, "old": hunk.old, "new": hunk.new}


def written(path: str, text: str) -> Act:
    """A whole file, by a command where it is not too long for one."""
    mark = "EOF"
    while mark in text:
        mark += "F"

    ended = text if text.endswith("\n") else f"{text}\n"
    folder = str(PurePosixPath(path).parent)
    command = words().write_file.format(
        folder=shlex.quote(folder), path=shlex.quote(path), mark=mark, text=ended
    )
    if text.endswith("\n") and len(command) <= LONGEST_COMMAND:
        return "bash", {"command": command}

    return "replace", {"path": path, "old": "", "new": text}


def edits(path: str, now: str | None, wanted: str | None) -> list[Act]:
    """The acts that make a file what it is to be; each can be done as things stand."""
    if now == wanted:
        return []

    if wanted is None:
        return [bash(words().remove_file, path=path)]

    if now is None:
        return [written(path, wanted)]

    found = hunks(now, wanted)
    whole = written(path, wanted)
    if len(found) > MOST_HUNKS and whole[0] == "bash":
        return [whole]

    return [replace(path, hunk) for hunk in found]


def call_hash(tool: str, arguments: Mapping[str, Any]) -> str:
    """What tells a call from others."""
    told = msgspec.json.encode([tool, sorted(arguments.items())])
    return sha256(told).hexdigest()[:10]


def turn_of(number: int, act: Act) -> AgentTurn:
    """A turn of one call, its arguments in the tool's order; `number` is that of the turn."""
    tool, arguments = act
    text = msgspec.json.encode(arguments).decode()
    return AgentTurn(tool_calls=(ToolCall.received(f"call_{number}", tool, text),))
