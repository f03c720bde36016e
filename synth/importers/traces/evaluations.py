"""Evaluations in traces: events by OpenTelemetry's GenAI convention, or attributes of a span."""

from collections.abc import Iterator
from typing import Any

from synth.importers.records import ImportedLabel, inside
from synth.importers.traces.notes import TraceNote
from synth.importers.traces.spans import TraceSpan

_PARENTS = ("parentSpanId", "parent_span_id", "parent_id", "parentId")
_ROOTS = ("", "0000000000000000")
_AGENTS = ("invoke_agent", "AGENT")


def evaluated(span: TraceSpan) -> TraceNote | None:
    """What a span says of its trace: its evaluations, and its id, by which others name it. None
    where it says nothing.
    """
    marks = tuple(_labels(span))
    if span.trace is None or not (marks or is_root(span)):
        return None
    named = span.span_id
    return TraceNote(span.trace, marks, () if named is None else (named,))


def is_root(span: TraceSpan) -> bool:
    """Whether a span stands for its whole trace: it has no parent, or is an agent's."""
    value, about = span.record.value, span.attributes
    parent = next((value[key] for key in _PARENTS if value.get(key) is not None), None)
    kinds = (
        inside(about, "gen_ai.operation.name"),
        inside(about, "openinference.span.kind"),
        value.get("span_kind"),
    )
    return parent is None or parent in _ROOTS or any(kind in _AGENTS for kind in kinds)


def _labels(span: TraceSpan) -> Iterator[ImportedLabel]:
    whole = is_root(span)
    for told in (span.attributes, *(told for _, told in span.events)):
        found = inside(told, "gen_ai.evaluation", dict) or {}
        name: Any = found.get("name")
        if not isinstance(name, str) or not name:
            continue
        value = inside(found, "score.value")
        number = float(value) if isinstance(value, int | float) else None
        about = {"label": inside(found, "score.label"), "comment": found.get("explanation")}
        detail = {key: one for key, one in about.items() if one}
        yield ImportedLabel(f"otel.{name}", number, None, detail or None, name if whole else None)
