"""Measures over attempts at one task that follow from each other: does progress come from what was
executed (SPARK, arXiv 2605.09192)?
"""
