"""The trajectories of a run inside its report: packed in compressed chunks, opened one by one in
the reader's browser.
"""
