"""The audit of a world: the conformance suite, and what makes its tasks worth learning from, as one
report.
"""
