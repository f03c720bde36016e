"""Tells which turns of a trajectory carry no loss, and why."""

from collections.abc import Mapping
from types import MappingProxyType

from synth.schemas import GREETING_MASK, SampledBy, Trajectory, Turn

MASKS = "loss_masks"
"""In the detail of a decision that takes a row as a recovery: its turns that carry no loss, with
the reason.
"""
_NONE: Mapping[int, str] = MappingProxyType({})
EVIDENCE = frozenset({"critical_step", "failure_injection", "second_evidence"})
"""Synthesizers whose trajectories were played to find out what an act does: they stand behind
labels, and are not picked to be learnt.
"""
IMPORTED = "import"
"""The synthesizer of trajectories that were not played here: no check of ours has judged them."""


def turns_without_loss(trajectory: Trajectory, masks: Mapping[int, str] = _NONE) -> dict[int, str]:
    """The turns that carry no loss in any form, each with its reason."""
    found = {
        i: mask_reason(turn, i, trajectory.pivot_turn) or masks.get(i)
        for i, turn in enumerate(trajectory.turns)
    }
    return {i: reason for i, reason in found.items() if reason}


def mask_reason(turn: Turn, index: int, pivot_turn: int | None = None) -> str | None:
    """Why a turn carries no loss, or None.

    It has its own mask or another author, stands before the pivot, does not parse, or says nothing.
    """
    if turn.mask is not None:
        return turn.mask
    if turn.sampled_by is not SampledBy.POLICY:
        return GREETING_MASK if turn.sampled_by is SampledBy.CANNED else turn.sampled_by.value
    if turn.injected is not None:
        return "injected"
    if pivot_turn is not None and index < pivot_turn:
        return "before_pivot"
    if any(call.parse_error is not None for call in turn.tool_calls):
        return "parse_error"
    if not turn.content and not turn.tool_calls:
        return "empty"
    return None


def characters(turn: Turn, *, thought: bool = True) -> int:
    """Characters that a turn wrote, as they were received.

    That is its text, its thought (unless it is left out), and names and arguments of its calls.
    """
    calls = sum(len(call.name) + len(call.arguments) for call in turn.tool_calls)
    return len(turn.content or "") + (len(turn.thought or "") if thought else 0) + calls
