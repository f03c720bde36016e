"""Texts and tables of environments, which stand beside their code."""

from importlib.resources import files
from typing import Any

import msgspec


def data_file(place: str) -> Any:
    """The content of `envs/<room>/data/<name>.yaml`; `place` is `<room>/<name>`."""
    room, _, name = place.rpartition("/")
    path = files("synth.envs") / room / "data" / f"{name}.yaml"
    return msgspec.yaml.decode(path.read_bytes())
