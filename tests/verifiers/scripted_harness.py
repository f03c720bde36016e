"""A harness of verifiers that does what a file says: the calls of one stored trajectory, through
the rollout's own tool server.
"""

import json
import os
from pathlib import Path
from typing import Any

import verifiers.v1 as vf
from verifiers.v1.harnesses.utils.mcp import mcp_client

__all__ = ["ScriptedHarness"]


class ScriptedConfig(vf.HarnessConfig):
    """Nothing to set."""


class ScriptedHarness(vf.Harness[ScriptedConfig]):
    """Writes what it was shown beside the calls."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_MCP = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: Any,
        **more: Any,
    ) -> Any:
        system, prompt = self.resolve_prompt(data)
        async with mcp_client({"url": next(iter(mcp_urls.values()))}) as client:
            tools = [tool.model_dump(mode="json") for tool in (await client.list_tools()).tools]
            said = [
                (await client.call_tool(name, arguments)).content[0].text
                for name, arguments in calls_of(data.id)
            ]
        write_down(
            data.id,
            {
                "system": system,
                "prompt": prompt if isinstance(prompt, str) else None,
                "tools": tools,
                "said": said,
            },
        )
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


def calls_of(task_id: str) -> Any:
    """[[name, arguments], ...] of a task."""
    return json.loads(Path(os.environ["SCRIPTED_CALLS"]).read_text(encoding="utf-8"))[task_id]


def write_down(task_id: str, shown: Any) -> None:
    """What a task's agent was shown and answered."""
    Path(os.environ["SCRIPTED_CALLS"]).with_suffix(f".{task_id}.shown").write_text(
        json.dumps(shown), encoding="utf-8"
    )
