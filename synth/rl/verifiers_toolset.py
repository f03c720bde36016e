"""The tools of a task's world as verifiers serves them (verifiers 0.4): one MCP server per rollout,
with the world in it.
"""

from typing import Any

import verifiers.v1 as vf
from mcp.types import CallToolResult, TextContent
from mcp.types import Tool as McpTool
from pydantic import Field

from synth.boundary import FaultError
from synth.rl.episode import SAFE, RlEpisode, opener, task_of
from synth.rollout.limits import Limits
from synth.schemas import canonical_json

BROKEN = "The world broke; nothing more can be done."


class TaskRow(vf.TaskData):  # type: ignore[misc]
    """A row of an `rl` export; `task` holds what no agent may be shown, and verifiers shows it to
    none.
    """

    task: str
    tool_schemas: list[dict[str, Any]] = Field(default_factory=list)


class WorldState(vf.State):  # type: ignore[misc]
    """What a rollout has come to: its reward after the last call, or the fault that leaves it
    without one.
    """

    reward: float | None = None
    outcome: str | None = None
    fault: str | None = None


class WorldConfig(vf.ToolsetConfig):  # type: ignore[misc]
    """`worlds` says how environments are started (`synth.rl.episode`), which no row can; `limits`
    are those of a rollout.
    """

    worlds: str = SAFE
    limits: Limits = Limits()


def opened_by(config: WorldConfig) -> RlEpisode:
    """An episode with the worlds that the settings name. Raises `ConfigError`."""
    return RlEpisode(opener(config.worlds), config.limits)


class WorldToolset(vf.Toolset[WorldConfig, WorldState]):  # type: ignore[misc]
    """Lists the schemas as they stand in the row, and carries calls out."""

    TOOL_PREFIX = None

    async def setup_task(self, task: TaskRow) -> None:
        """Puts the world into the task's start."""
        self._row = task
        self._episode = opened_by(self.config)
        await self._episode.reset(task_of({"task": task.task}))

    def register(self, mcp: Any) -> None:
        """In the place of the server's own catalogue, which is made of Python functions."""
        mcp.list_tools = self._with_state(self.list_tools)
        mcp.call_tool = self._with_state(self.call_tool)

    async def list_tools(self) -> list[McpTool]:
        """As the agents of rollouts are shown them."""
        functions = [tool["function"] for tool in self._row.tool_schemas]
        return [
            McpTool(
                name=f["name"],
                description=f.get("description"),
                input_schema=f.get("parameters") or {},
            )
            for f in functions
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Any = None
    ) -> CallToolResult:
        """A turn of one call. A fault of the world goes into the state, which is not sent on where
        this raises: no reward, then.
        """
        episode = self._episode

        try:
            text, failed = await episode.call(name, canonical_json(arguments).decode())
            outcome = await episode.outcome()
        except FaultError as error:
            self.state.fault = str(error)

            return CallToolResult(content=[TextContent(type="text", text=BROKEN)], is_error=True)

        self.state.outcome, self.state.reward = outcome.value, await episode.reward()

        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=failed)


if __name__ == "__main__":
    WorldToolset.run()
