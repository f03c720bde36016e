"""Entities side by side in an order: the cheapest of them, the one next after another."""

from synth.text.provenance.dates import as_date
from synth.text.provenance.objects import Group

_SUPERLATIVES = (
    "cheapest lowest smallest shortest earliest oldest minimum highest largest biggest "
    "longest latest newest maximum"
)
SUPERLATIVES = frozenset(_SUPERLATIVES.split())
RELATIONS = frozenset({"after", "before", "next", "previous", "following", "preceding"})


def adjacent(identifier: str, other: str, group: Group) -> bool:
    """Whether two entities follow each other by one of their dates."""
    own = group[identifier]
    for name, value in own.items() if isinstance(own, dict) else ():
        if as_date(value) is not None:
            days = sorted(
                {
                    entry[name]
                    for entry in group.values()
                    if isinstance(entry, dict) and isinstance(entry.get(name), str)
                }
            )
            day = group[other].get(name) if isinstance(group[other], dict) else None
            if day in days and abs(days.index(value) - days.index(day)) == 1:
                return True
    return False


def extreme(identifier: str, group: Group) -> bool:
    """Whether an entity alone has the least or greatest value of one of its numbers, or of its
    dates and times.
    """
    own = group[identifier]
    for name, value in own.items() if isinstance(own, dict) else ():
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float | str)
            or (isinstance(value, str) and ":" not in value and "-" not in value)
        ):
            continue
        others = [
            entry[name]
            for key, entry in group.items()
            if key != identifier
            and isinstance(entry, dict)
            and type(entry.get(name)) is type(value)
        ]
        if others and not min(others) <= value <= max(others):
            return True
    return False
