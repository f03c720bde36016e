"""Environments while episodes are played: on threads, parked, and how calls reach them."""
