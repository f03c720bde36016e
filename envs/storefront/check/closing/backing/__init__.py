"""What the reading of closing words stands on: the kinds of words, what clauses name, and what an
episode bears out.
"""
