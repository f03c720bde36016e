"""Python sources as they are read and changed: by the bytes of one node, so that a diff is
small.
"""
