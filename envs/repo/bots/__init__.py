"""Agents without a model, whose successes say what a task is worth: two that repair, and many that
cheat.
"""
