"""Reflect-then-retry: a diagnosis of a failed attempt, a retry from the diagnosed turn, and its
worth at equal cost.
"""
