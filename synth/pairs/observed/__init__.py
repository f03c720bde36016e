"""Comparisons of collected trials: what was done otherwise at a state that several trials of a task
were in, and how often each of them passed. No test stands behind them.
"""
