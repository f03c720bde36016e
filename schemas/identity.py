"""The same work has the same slot on every machine; tries at a slot are numbered."""

from collections.abc import Mapping
from typing import Any

from synth.schemas.canonical import content_hash


def slot_id(
    *,
    task_id: str,
    synthesizer: str,
    trial: int,
    seed: int,
    policy: Mapping[str, Any],
    model: str | None,
    sampling: Mapping[str, Any],
    parent_id: str | None = None,
    pivot_turn: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> str:
    """Hash of everything that determines a piece of work; resume is set difference over slots.

    `settings` are the limits and world options under which the episode runs. Only with
    deterministic engines does one
    slot mean one content.
    """
    return content_hash(
        {
            "task": task_id,
            "synthesizer": synthesizer,
            "trial": trial,
            "seed": seed,
            "policy": policy,
            "model": model,
            "sampling": sampling,
            "parent": parent_id,
            "pivot": pivot_turn,
            "settings": settings or {},
        }
    )


def trajectory_id(slot: str, attempt: int) -> str:
    """Hash of a slot and the number of the try at it."""
    return content_hash([slot, attempt])
