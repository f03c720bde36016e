"""Keys: named by the environment variable that holds them, refused where they are written out,
taken out of whatever comes back.
"""

from synth.keys.from_env import EnvironmentValue, FromEnv, resolved
from synth.keys.literals import key_like, refuse_literals

__all__ = ["EnvironmentValue", "FromEnv", "key_like", "refuse_literals", "resolved"]
