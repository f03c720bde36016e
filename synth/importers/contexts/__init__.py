"""Contexts that a model saw: what was compacted away, and what begins behind it."""
