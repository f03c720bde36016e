"""Processes of worlds, confined: no network, no home, a read-only system, a user id of their own, and limits."""

from synth.confinement.command import INSIDE, Limits, confined_command, hand_over, missing

__all__ = ["INSIDE", "Limits", "confined_command", "hand_over", "missing"]
