"""Repositories as a world: a terminal in the tree of a library, branched in a fraction of a
millisecond.
"""
