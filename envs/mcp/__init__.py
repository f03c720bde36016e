"""Any MCP server as a world: its tools, a folder as its state, a check by what the folder holds at
the end.
"""

from synth.envs.mcp.world import WORLD

__all__ = ["WORLD"]
