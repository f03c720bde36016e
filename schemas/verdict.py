"""What a filter says of a trajectory: advice that each dataset kind honours or not."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec


class Scope(StrEnum):
    """What a filter must see to decide."""

    TRAJECTORY = "trajectory"
    TASK = "task"
    CORPUS = "corpus"


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Keep, drop or undefined (None); `reason` is a short stable name that becomes a counter."""

    keep: bool | None
    reason: str
    score: float | None = None
    detail: Mapping[str, Any] = msgspec.field(default_factory=dict)
