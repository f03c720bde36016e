"""Lists of words, of words.yaml."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import msgspec


def listed(name: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(_lists()[name].split())


@cache
def _lists() -> Mapping[str, str]:
    text = (files("synth.text.secrets.values") / "words.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=dict[str, str])
