"""Filters by name: `name -> "module:attribute"`, where the attribute is a `schemas.filter.Filter`; importing this loads none."""

FILTERS: dict[str, str] = {
    "solved": "filters.solved:FILTER",
    "reexecuted": "filters.reexecuted:FILTER",
    "leaks": "filters.leaks:FILTER",
}
