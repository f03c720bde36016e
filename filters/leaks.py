"""Drops what shows traces of hidden help: a guided trajectory that quotes, mentions or acts on
guidance that its transcript lacks.
"""

from synth.schemas.filter import Case, Filter, FilterSettings
from synth.schemas.verdict import Verdict
from synth.text.leaks import leaks


class LeaksConfig(FilterSettings):
    """No settings."""


async def no_leaks(case: Case, config: LeaksConfig) -> Verdict:
    """Keep where the scan finds nothing in the turns after the pivot; undefined for trajectories
    that nobody guided.
    """
    trajectory = case.trajectory
    if trajectory.guidance is None:
        return Verdict(None, "not_guided")
    found = leaks(trajectory)
    if not found:
        return Verdict(True, "clean")
    first = found[0]
    return Verdict(
        False, first.kind, float(len(found)), {"turn": first.turn, "what": first.what[:200]}
    )


FILTER = Filter(LeaksConfig, no_leaks)
