"""Patterns over fact paths: `table/key/column`, where `*` stands for one segment."""


def matches(pattern: str, path: str) -> bool:
    """Whether a path fits a pattern, segment by segment."""
    wanted, found = pattern.split("/"), path.split("/")
    return len(wanted) == len(found) and all(w in ("*", f) for w, f in zip(wanted, found, strict=True))
