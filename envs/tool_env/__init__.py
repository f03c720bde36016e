"""Environments as classes: fields are settings, methods under `@tool` are the agent's tools.

The state is whatever else an instance holds; snapshots, keys and checks are the kit's work.
"""

from synth.envs.tool_env.entry import world_of
from synth.envs.tool_env.kit import (
    Call,
    ToolEnv,
    tool,
)
from synth.envs.tool_env.signature import ToolError
from synth.schemas import Require, Task

__all__ = ["Call", "Require", "Task", "ToolEnv", "ToolError", "tool", "world_of"]
