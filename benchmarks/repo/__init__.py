"""Measurements of the world `repo`: kinds, tasks, who solves or gets round them, snapshots."""
