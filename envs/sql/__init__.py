"""SQL: questions about a database and changes of it, in databases by seed or in a user's own."""

from synth.envs.sql.world import WORLD, WORLD_OF_FILE

__all__ = ["WORLD", "WORLD_OF_FILE"]
