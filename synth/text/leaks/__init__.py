"""Traces of hidden help in what a guided agent wrote and chose."""

from synth.text.leaks.scan import Leak, leaks

__all__ = ["Leak", "leaks"]
