"""Failures with a known cause and step: mistakes put into successful trajectories, and failed ones
repaired.
"""
