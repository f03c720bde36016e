"""Rank-surprisal ratio: which trajectories a student learns most from (arXiv 2601.14249); lower
suits it better.
"""
