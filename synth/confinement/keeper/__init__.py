"""What the keeper of branches does, in a process of its own: trees of files, layers and mounts.

Its modules need the standard library alone, so that the process starts quickly.
"""
