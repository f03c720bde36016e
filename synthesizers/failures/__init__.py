"""Failures with a known cause and step: mistakes put into successful trajectories, and repairs of
failed ones.

`planning` chooses twin, strategy, mode and turn of an attempt; `preparing` builds the act that is
put there, by the rules in `mistakes` or by the roles in `roles`; `injecting` runs and tests it.
`repairing` does the opposite with failed trials. `records` writes notes, labels and the report.
"""
