"""Every task, trajectory, turn, score and decision is a row; every row says where it came from;
nothing is overwritten.
"""

from synth.ledger.ledger import Decision, Score, StageRef, StoredLedger

__all__ = ["Decision", "Score", "StageRef", "StoredLedger"]
