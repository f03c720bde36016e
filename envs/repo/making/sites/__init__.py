"""Edits of one site: an expression of the syntax tree that is replaced by another, in place."""
