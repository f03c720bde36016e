"""What a selection is made of, before and after: what it changes besides quality."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping


def composition(parts: Iterable[tuple[Mapping[str, Hashable], int]]) -> dict[str, dict[str, int]]:
    """How much of the size falls to each value of each trait, from (traits, size)."""
    found: dict[str, Counter[str]] = {}
    for traits, size in parts:
        for trait, value in traits.items():
            found.setdefault(trait, Counter())[str(value)] += size
    return {trait: dict(sorted(counts.items())) for trait, counts in found.items()}


def share(counts: Mapping[str, Mapping[str, int]], trait: str, value: str = "True") -> str:
    """How much falls to one value, in words."""
    found = counts.get(trait, {})
    total = sum(found.values())
    return f"{found.get(value, 0) / total:.0%}" if total else "nothing"
