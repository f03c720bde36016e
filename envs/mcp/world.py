"""MCP worlds in the registry: how one opens, its tasks, how goals are derived from explorations."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from envs.mcp.env import SPEC, McpEnv
from envs.mcp.folder import start_digest
from envs.mcp.goals import write_goal
from envs.mcp.settings import McpSettings
from envs.world import World
from schemas.canonical import content_hash
from schemas.check import Check
from schemas.errors import ConfigError
from schemas.task import Task


class Goal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task of a user's own: what the agent is told, and the check of the folder (required, free, protected) that decides."""

    goal: str
    check: Check
    split: str | None = None


def open_mcp(config: Mapping[str, Any]) -> Any:
    """A world by its settings."""
    return McpEnv(McpSettings.model_validate(dict(config)))


def make_tasks(config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    """Those of the task file, none without one: `reverse_task` makes them. Raises `ConfigError` for a file that holds none."""
    settings = McpSettings.model_validate(dict(config))
    if settings.task_file is None:
        return ()
    pinned = {**config, "digest": start_digest(settings.start)}
    goals = _goals(Path(settings.task_file).expanduser())
    return [
        Task.identified(env=SPEC.name, env_config=pinned, goal=one.goal, seed=seed % 2**63, check=one.check, split=one.split)
        for one in goals[:count]
    ]


def _goals(path: Path) -> list[Goal]:
    try:
        return msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), list[Goal])
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: is no YAML: {' '.join(str(error).split())}") from error
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: is no list of goals, each with goal and check: {error}") from error


def exploring(config: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """The start folder as it is now, pinned by its digest; the seed tells explorations apart."""
    settings = McpSettings.model_validate(dict(config))
    return {**config, "digest": start_digest(settings.start), "explored_seed": seed % 2**31}


def start_state(config: Mapping[str, Any]) -> str:
    """What the start folder and the task file hold. Raises `ConfigError` where one is not there, or holds what it may not."""
    settings = McpSettings.model_validate(dict(config))
    folder = start_digest(settings.start)
    return folder if settings.task_file is None else content_hash([folder, _goals(Path(settings.task_file).expanduser())])


WORLD = World(
    spec=SPEC,
    open=open_mcp,
    make_tasks=make_tasks,
    config=McpSettings,
    write_goal=write_goal,
    exploring=exploring,
    start_state=start_state,
    told_apart_by=("explored_seed",),
)
