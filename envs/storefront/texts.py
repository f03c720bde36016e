"""Reads the texts of the world from `data/`: what is said, what things and people are called."""

import re
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec


@cache
def texts(name: str) -> Any:
    """The content of `data/<name>.yaml`."""
    place = files("synth.envs.storefront") / "data" / f"{name}.yaml"

    return msgspec.yaml.decode(place.read_bytes())


@cache
def pattern(name: str, key: str) -> re.Pattern[str]:
    """The pattern that `data/<name>.yaml` has under a key."""
    return compiled(texts(name)[key])


def compiled(words: str) -> re.Pattern[str]:
    """A pattern whose lines are one."""
    return re.compile(words.replace("\n", ""))
