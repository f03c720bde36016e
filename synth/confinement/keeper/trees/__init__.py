"""Trees of files: walked, read, written and compared by descriptors, never through a link that
leads out of them.
"""
