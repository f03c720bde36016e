"""Reflect-then-retry: a diagnosis of a failed attempt, one retry from the diagnosed turn, and what
that is worth at equal cost.
"""
