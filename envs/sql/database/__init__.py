"""Databases: what they consist of, where they come from, what statements do to them."""
