"""What stands behind `from synth import ...`: thin functions over the rooms below, for notebooks,
scripts and the command line.
"""
