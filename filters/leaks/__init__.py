"""Drops what shows traces of hidden help, and holds back what may show some until a judge has
looked.
"""

from synth.filters.leaks.filter import FILTER, LeaksConfig, no_leaks

__all__ = ["FILTER", "LeaksConfig", "no_leaks"]
