"""Reads the texts of the world from `data/`: what is said, what things and people are called."""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec


@cache
def texts(name: str) -> Any:
    """The content of `data/<name>.yaml`."""
    place = files("synth.envs.storefront") / "data" / f"{name}.yaml"

    return msgspec.yaml.decode(place.read_bytes())
