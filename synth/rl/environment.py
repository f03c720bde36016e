"""Where users of rows find the episode as a plain object, whatever their trainer is."""

from synth.rl.trl import RlEnvironment

__all__ = ["RlEnvironment"]
