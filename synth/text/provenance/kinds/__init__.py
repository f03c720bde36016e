"""Kinds of arguments: which are judged as a whole, which by the literals in them, which not."""
