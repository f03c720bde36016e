"""Drops what shows traces of hidden help.

A guided trajectory does that quotes, mentions or acts on guidance that its transcript lacks.
"""

from synth.schemas import Case, Filter, FilterSettings, Verdict
from synth.text.leaks import leaks


class LeaksConfig(FilterSettings):
    """No settings."""


async def no_leaks(case: Case, config: LeaksConfig) -> Verdict:
    """Keep where the scan finds nothing in the turns after the pivot.

    Undefined for trajectories that nobody guided.
    """
    if case.trajectory.guidance is None:
        return Verdict(None, "not_guided")
    found = leaks(case.trajectory)
    if not found:
        return Verdict(True, "clean")
    first = found[0]
    detail = {"turn": first.turn, "what": first.what[:200]}
    return Verdict(False, first.kind, float(len(found)), detail)


FILTER = Filter(LeaksConfig, no_leaks, version=2)
