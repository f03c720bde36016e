"""Filters by name: `name -> "module:attribute"`, where the attribute is a `schemas.filter.Filter`; importing this loads none."""

FILTERS: dict[str, str] = {
    "solved": "filters.solved:FILTER",
    "attribution": "filters.attribution.filter:FILTER",
    "reexecuted": "filters.reexecuted:FILTER",
    "rubric": "filters.rubric.filter:FILTER",
    "leaks": "filters.leaks:FILTER",
    "secrets": "filters.secrets:FILTER",
    "control_tokens": "filters.control_tokens:FILTER",
    "rank_surprisal": "filters.rank_surprisal.within_task:FILTER",
    "provenance": "filters.provenance:FILTER",
    "signals": "filters.signals.signals:FILTER",
    "efficiency": "filters.signals.efficiency:FILTER",
    "waste": "filters.waste:FILTER",
    "duplicates": "filters.duplicates:FILTER",
    "contamination": "filters.contamination:FILTER",
    "split": "filters.split:FILTER",
    "pdi": "filters.pdi.filter:FILTER",
}
