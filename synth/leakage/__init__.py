"""Traces of hidden help in what a guided agent wrote and chose."""

from synth.leakage.scan import Leak, leaks

__all__ = ["Leak", "leaks"]
