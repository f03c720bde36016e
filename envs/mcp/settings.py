"""What is said of an MCP world: by its user, how its server is started and shown; by a task, what
an episode needs beside.
"""

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from synth.confinement import ProcessLimits
from synth.keys import EnvironmentValue, refuse_literals
from synth.schemas import ConfigError, content_hash

PATHS = ("folder", "read_only", "task_file")
"""Settings that are paths."""
LONGEST_PROMPT = 100_000
Pattern = Annotated[str, Field(max_length=500)]
Patterns = Annotated[tuple[Pattern, ...], Field(max_length=200)]


class McpConfig(BaseModel):
    """What a task says: data, so nothing in it starts, reads or shows anything that its user has
    not allowed.

    `ignore`: files that are no state. `free`: fact patterns that a right solution may change.
    `digest` of the start folder is set
    where tasks are made, and compared at each reset; `started_by` tells tasks of another server
    apart (`started_by`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    system_prompt: str = Field(
        default="You work with the tools alone; the files are under /world. When the work is done, "
        "say so without a call.",
        max_length=LONGEST_PROMPT,
    )
    ignore: Patterns = (".git", ".git/**")
    free: Patterns = ()
    digest: str | None = Field(default=None, max_length=100)
    started_by: str | None = Field(default=None, max_length=100)
    explored_seed: int = Field(default=0, ge=-(2**63), lt=2**63)


class McpSettings(BaseModel):
    """What only the user says, in a flow of theirs or with `--env`: no task, row or file of a run
    does.

    `command` starts a server that speaks MCP on stdin and stdout, in its folder (/world inside).

    `folder`: the start state, copied for each episode; without one it begins empty. `read_only`:
    what the server needs beside the system
    (its code). `without`: tools that are neither shown nor answered, such as those that tell the
    time. `masked`: regular expressions
    whose matches in answers the agent sees as `<...>`: what differs from run to run. `refused`:
    regular expressions that tell an error from
    an answer, for servers that do not say so themselves. `stateless`:
    the server keeps nothing in memory, and need not be started anew for each episode. `task_file`:
    goals of your own (docs/mcp.md).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    command: tuple[str, ...] = Field(min_length=1)
    without: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    folder: str | None = None
    read_only: tuple[str, ...] = ()
    environment: dict[str, EnvironmentValue] = {}
    task_file: str | None = None
    limits: ProcessLimits = ProcessLimits()
    start_s: float = Field(default=60, gt=0)
    call_s: float = Field(default=60, gt=0)
    stateless: bool = False
    unconfined: bool = False

    @field_validator("command", mode="before")
    @classmethod
    def _a_list(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError(
                "give a list: the program and its arguments, for instance [npx, server, /world]"
            )

        return value

    @field_validator("command", "environment")
    @classmethod
    def _without_keys(cls, value: Any, of: ValidationInfo) -> Any:
        refuse_literals({of.field_name: value}, "env.")
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
            raise ConfigError(
                f"{self.folder}: is no folder; `folder` names the start state of the MCP world"
            )

        return path

    @property
    def started_by(self) -> str:
        """A hash of what the user wrote that determines the answers: the start folder has a digest
        of its own, and keys are named only.
        """

        return content_hash(
            self.model_dump(
                mode="json",
                include={"command", "environment", "without", "masked", "refused", "unconfined"},
            )
        )
