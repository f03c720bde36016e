"""Tests that an agent never sees: taken out of its tree, or written from what the whole tree
does.
"""
