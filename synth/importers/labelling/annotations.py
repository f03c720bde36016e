"""Scores that tracing tools keep apart from their traces: annotations of Phoenix, scores of
Langfuse, feedback of LangSmith and Weave. Each names a trace, a session or a span, and becomes a
score of it.
"""

from typing import Any

from synth.importers.labelling.rows import LabelRow
from synth.importers.reactions import feedback_marks, is_feedback
from synth.importers.records import (
    ImportedLabel,
    Object,
    Record,
    is_object,
)

_SUBJECTS = (
    *("span_id", "spanId", "trace_id", "traceId", "run_id", "session_id", "sessionId"),
    "observationId",
)


def is_annotation(value: Any) -> bool:
    """Whether a record is a score for a trace, a session or a span of it."""
    if is_feedback(value) and isinstance(value.get("weave_ref"), str):
        return True
    if not isinstance(value, dict) or not any(value.get(key) for key in _SUBJECTS):
        return False
    if is_object(value, name=str, result=dict):
        return "score" in value["result"] or "label" in value["result"]
    if is_object(value, "value", "traceId", name=str, dataType=str):
        return True
    return is_object(value, "score", run_id=str, key=str)


def are_annotations(value: Any) -> bool:
    """Whether a record is such a score, or a page of them."""
    lists = (one for one in value.values() if isinstance(one, list)) if is_object(value) else ()
    rows = next(filter(None, lists), [value])
    return all(map(is_annotation, rows))


def annotation(record: Record) -> LabelRow:
    """The row of a score; one of a single observation (Langfuse) names that alone."""
    value: Object = record.value
    if is_feedback(value):
        call = value["weave_ref"].rpartition("/")[2]
        return LabelRow(
            record=record, keys=(call,), marks=tuple(feedback_marks([value], whole=True))
        )
    told = value["result"] if isinstance(value.get("result"), dict) else value
    name = value["name"] if "name" in value else value["key"]
    number = told.get("score", told.get("value"))
    words = next((told[key] for key in ("label", "stringValue") if told.get(key)), None)
    texts = (told.get(key) for key in ("explanation", "comment"))
    about = {"label": words, "comment": next(filter(None, texts), None)}
    about["annotator"] = value.get("annotator_kind") or value.get("source")
    mark = ImportedLabel(
        f"annotation.{name}",
        float(number) if isinstance(number, int | float) else None,
        None,
        {key: one for key, one in about.items() if one} or None,
        score=str(name),
    )
    subjects = [value["observationId"]] if value.get("observationId") else []
    subjects = subjects or [value[key] for key in _SUBJECTS if value.get(key)]
    return LabelRow(record=record, keys=tuple(map(str, subjects)), marks=(mark,))
