"""Filters by name: `name -> "module:attribute"`, where the attribute is a
`synth.schemas.filtering.Filter`; importing this loads none.
"""

FILTERS: dict[str, str] = {
    "solved": "synth.filters.solved:solved",
    "attribution": "synth.filters.attribution.filter:FILTER",
    "reexecuted": "synth.filters.reexecuted:FILTER",
    "rubric": "synth.filters.rubric.filter:FILTER",
    "leaks": "synth.filters.leaks:FILTER",
    "secrets": "synth.filters.secrets:FILTER",
    "control_tokens": "synth.filters.control_tokens:FILTER",
    "rank_surprisal": "synth.filters.rank_surprisal.within_task:FILTER",
    "provenance": "synth.filters.provenance:FILTER",
    "signals": "synth.filters.signals.signals:FILTER",
    "efficiency": "synth.filters.efficiency:FILTER",
    "waste": "synth.filters.waste:FILTER",
    "duplicates": "synth.filters.duplicates:FILTER",
    "contamination": "synth.filters.contamination:FILTER",
    "split": "synth.filters.split:FILTER",
    "pdi": "synth.filters.pdi:FILTER",
}
