"""Tasks drawn from a seed: requests, their words, their checks."""
