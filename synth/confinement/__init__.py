"""Processes of worlds, confined: no network, no home, a read-only system, a user id of their own, and limits."""

from synth.confinement.command import Limits, confined_command, missing

__all__ = ["Limits", "confined_command", "missing"]
