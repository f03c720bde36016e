"""Proof of a data set before it is written: the consumer's own loader, the student's template, the
mask token by token.
"""
