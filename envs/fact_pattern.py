"""Patterns over fact paths: `table/key/column`, where `*` stands for one segment."""

from collections.abc import Iterable, Mapping


def matches(pattern: str, path: str) -> bool:
    """Whether a path fits a pattern, segment by segment."""
    wanted, found = pattern.split("/"), path.split("/")
    return len(wanted) == len(found) and all(
        w in ("*", f) for w, f in zip(wanted, found, strict=True)
    )


def matches_any(patterns: Iterable[str], path: str) -> bool:
    """Whether a path fits one of the patterns."""
    return any(matches(pattern, path) for pattern in patterns)


def pattern_of(patterns: Mapping[str, str], path: str) -> str | None:
    """The pattern that says most about a path: the one with the fewest `*`; None where none
    fits.
    """
    fitting = (pattern for pattern in patterns if matches(pattern, path))
    return min(fitting, key=lambda pattern: pattern.count("*"), default=None)


def zone_of(patterns: Mapping[str, str], path: str) -> str:
    """required, free, protected or generated, as the most telling pattern says; protected where
    none fits.
    """
    pattern = pattern_of(patterns, path)
    return "protected" if pattern is None else patterns[pattern]
