"""A misconception: the expert that now and then does whatever can be done, and has to find back."""

from random import Random

from synth.envs.textworld.commands import Command
from synth.envs.textworld.logic import Logic
from synth.schemas.errors import ConfigError
from synth.schemas.profile import spared

PROFILES = ("correct", "mixed", "wanders")
SHARE = 0.25


def wanders_off(profile: str | None, seed: int, turn: int, logic: Logic) -> Command | None:
    """What is done instead of the plan's next step, or None. Raises `ConfigError` for a profile
    that is not known.

    Food is not eaten: that cannot be mended. `mixed` is one of the others, by the seed.
    """
    name, rid = spared(profile)
    chosen = Random(seed).choice(("correct", "wanders")) if name == "mixed" else name
    chosen = "correct" if chosen in rid else chosen
    if chosen not in PROFILES:
        raise ConfigError(
            f"textworld has no expert profile {chosen!r}; it has {', '.join(PROFILES)}"
        )
    draw = Random(f"{seed} {turn}")
    if chosen == "correct" or draw.random() >= SHARE:
        return None
    return draw.choice([command for command in logic.possible() if command.tool != "eat"])
