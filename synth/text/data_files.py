"""Lists and tables that synth is installed with, as YAML."""

from collections.abc import Hashable
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar, cast

import msgspec

Decoded = TypeVar("Decoded")


def read(place: str, kind: type[Decoded]) -> Decoded:
    """A file by its place in the package, such as `data/modes/mast.yaml`; read once."""
    found: Decoded = _decoded(place, cast("Hashable", kind))
    return found


@cache
def _decoded(place: str, kind: Any) -> Any:
    return msgspec.yaml.decode((files("synth") / place).read_bytes(), type=kind)
