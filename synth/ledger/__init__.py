"""Every task, trajectory, turn, score and decision is a row; every row says where it came from;
nothing is overwritten.
"""

from synth.ledger.ledger import Decision, Ledger, Score, StageRef

__all__ = ["Decision", "Ledger", "Score", "StageRef"]
