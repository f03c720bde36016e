"""Traces of hidden help in what a guided agent wrote and chose."""

from synth.text.leaks.scan import Leak, leaks
from synth.text.leaks.suspicion import suspicions, usual_sentences

__all__ = ["Leak", "leaks", "suspicions", "usual_sentences"]
