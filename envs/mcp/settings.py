"""What a flow says of an MCP world: how the server is started, from which folder, under which limits."""

import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from schemas.errors import ConfigError
from synth.confinement import Limits


class McpSettings(BaseModel):
    """`command` starts a server that speaks MCP on stdin and stdout, in its folder (/world inside).

    `folder`: the start state, copied for each episode; without one it begins empty. `read_only`: what the server needs beside the system
    (its code). `without`: tools that are neither shown nor answered, such as those that tell the time. `masked`: regular expressions
    whose matches in answers the agent sees as `<...>`: what differs from run to run. `refused`: regular expressions that tell an error from
    an answer, for servers that do not say so themselves. `ignore`: files that are no state. `stateless`:
    the server keeps nothing in memory, and need not be started anew for each episode. `free`: fact patterns that a right solution may
    change. `task_file`: goals of your own (docs/mcp.md).
    `digest` of the start folder is set where tasks are made, and compared at each reset.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: tuple[str, ...] = Field(min_length=1)
    without: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    folder: str | None = None
    read_only: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    system_prompt: str = "You work with the tools alone; the files are under /world. When the work is done, say so without a call."
    ignore: tuple[str, ...] = (".git", ".git/**")
    free: tuple[str, ...] = ()
    task_file: str | None = None
    limits: Limits = Limits()
    start_s: float = Field(default=60, gt=0)
    call_s: float = Field(default=60, gt=0)
    stateless: bool = False
    unconfined: bool = False
    digest: str | None = None
    explored_seed: int = 0

    @field_validator("command", mode="before")
    @classmethod
    def _a_list(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError("give a list: the program and its arguments, for instance [npx, server, /world]")
        return value

    @field_validator("masked", "refused")
    @classmethod
    def _regular(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
        return patterns

    @property
    def shown(self) -> list[Path]:
        """Paths that the server may read."""
        return [Path(path).expanduser() for path in self.read_only]

    @property
    def start(self) -> Path | None:
        """The start folder. Raises `ConfigError` where it is none."""
        if self.folder is None:
            return None
        path = Path(self.folder).expanduser()
        if not path.is_dir():
            raise ConfigError(f"{self.folder}: is no folder; `folder` names the start state of the MCP world")
        return path
