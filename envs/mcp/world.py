"""MCP worlds in the registry: how one opens, its tasks, how goals are derived from explorations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from synth.envs.mcp.env import SPEC, McpEnv
from synth.envs.mcp.goals import write_goal
from synth.envs.mcp.settings import PATHS, McpConfig, McpSettings
from synth.envs.mcp.state.folder import start_digest
from synth.envs.world import EnvEntry, EnvStart, unbound
from synth.schemas import Check, ConfigError, Task, content_hash, read_yaml


class Goal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task of a user's own: what the agent is told, and the check of the folder (required, free,
    protected) that decides.
    """

    goal: str
    check: Check
    split: str | None = None


def open_mcp(settings: McpSettings, config: Mapping[str, Any]) -> Any:
    """A world started by its user's settings, for a task's."""
    return McpEnv(settings, McpConfig.model_validate(dict(config)))


def make_tasks(
    settings: McpSettings, config: Mapping[str, Any], seed: int, count: int
) -> Sequence[Task]:
    """Those of the task file, none without one: `reverse_task` makes them. Raises `ConfigError` for
    a file that holds none.
    """

    if settings.task_file is None:
        return ()
    pinned = _pinned(settings, config)
    goals = _goals(Path(settings.task_file).expanduser())

    return [
        Task.identified(
            env=SPEC.name,
            env_config=pinned,
            goal=one.goal,
            seed=seed % 2**63,
            check=one.check,
            split=one.split,
        )
        for one in goals[:count]
    ]


def _pinned(settings: McpSettings, config: Mapping[str, Any]) -> dict[str, Any]:
    """A task's settings that tell it from tasks of another start folder, and of another server."""
    return {**config, "digest": start_digest(settings.start), "started_by": settings.started_by}


def _goals(path: Path) -> list[Goal]:
    try:
        return msgspec.convert(read_yaml(path.read_text(encoding="utf-8"), str(path)), list[Goal])
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{path}: is no list of goals, each with goal and check: {error}"
        ) from error


def exploring(settings: McpSettings, config: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """The start folder as it is now, pinned by its digest; the seed tells explorations apart."""
    return {**_pinned(settings, config), "explored_seed": seed % 2**31}


def start_state(settings: McpSettings, config: Mapping[str, Any]) -> str:
    """What the start folder and the task file hold, and what starts the server.

    Raises `ConfigError` where folder or file is not there, or holds what it may not.
    """
    goals = [] if settings.task_file is None else _goals(Path(settings.task_file).expanduser())
    return content_hash([start_digest(settings.start), settings.started_by, goals])


def bound(settings: McpSettings) -> EnvEntry:
    """The world of one server: what its user says of the start is no task's business any more."""

    return replace(
        WORLD,
        open=partial(open_mcp, settings),
        make_tasks=partial(make_tasks, settings),
        exploring=partial(exploring, settings),
        start_state=partial(start_state, settings),
        start=None,
    )


WORLD = EnvEntry(
    spec=SPEC,
    open=unbound,
    make_tasks=unbound,
    config=McpConfig,
    write_goal=write_goal,
    told_apart_by=("explored_seed",),
    start=EnvStart(McpSettings, bound, PATHS),
)
