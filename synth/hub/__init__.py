"""Datasets of a run on the Hub: what goes out, what is said of it, how it gets there, and that it
arrived.
"""
