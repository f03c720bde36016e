"""What is put in the place of a clean turn: mistakes of an agent by failure mode, and faults of the
environment.
"""
