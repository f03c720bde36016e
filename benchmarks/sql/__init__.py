"""Measurements of the world `sql`: its tasks, its mutants, who cheats, who reads its goals."""
