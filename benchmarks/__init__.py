"""Measured claims, one command each: `python -m benchmarks.<name>`; `python -m benchmarks` runs
them all.
"""
