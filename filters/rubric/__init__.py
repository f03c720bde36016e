"""Rubrics: what is asked of a judge about a trajectory, how its answers are read, and when they may
decide.
"""
