"""What two equal executions of an episode have in common."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.schemas.trajectory import Trajectory


def canonical_content(trajectory: Trajectory) -> Mapping[str, Any]:
    """A trajectory without what two equal executions differ in: time stamps and latencies."""
    turns = tuple(replace(turn, latency_ms=None) for turn in trajectory.turns)
    content: Mapping[str, Any] = msgspec.to_builtins(
        replace(trajectory, created_at=None, turns=turns)
    )
    return content
