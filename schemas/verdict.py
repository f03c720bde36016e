"""What a filter says of a trajectory: advice that each dataset kind honours or not."""

from collections.abc import Mapping
from typing import Any

import msgspec

from synth.schemas.strict_record import StrictRecord

UNVERIFIED = "unverified"
"""The reason of a decision that a judge would have to make, and none has made."""
JUDGED = "judged"
"""In the detail of a verdict that rests on a model: how far that one agrees with what is known."""


class Verdict(StrictRecord, frozen=True):
    """Keep, drop or undefined (None); `reason` is a short stable name that becomes a counter.

    `detail` is for people. `masks`: turns that carry no loss where it takes a row as a recovery.
    `judged`: of a stored one that rests on a model, what `detail` says of that one's agreement.
    """

    keep: bool | None
    reason: str
    score: float | None = None
    detail: Mapping[str, Any] = msgspec.field(default_factory=dict)
    masks: Mapping[int, str] = msgspec.field(default_factory=dict)
    judged: str | None = None
