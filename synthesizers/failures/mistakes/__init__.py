"""Mistakes and faults that replace a clean turn: an agent's mistakes by failure mode, and faults of
the environment.

`modes` and `checking` have one rule per mode of MAST that a single agent shows; each sees the turn
through an `InjectionPoint`, which knows no more than the agent had seen by then.
`observation_faults` alters answers instead.
"""
