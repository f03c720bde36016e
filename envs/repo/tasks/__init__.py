"""Tasks: out of a pool, derived from explorations, and their solutions done otherwise."""
