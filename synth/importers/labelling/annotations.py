"""Scores that tracing tools keep apart from their traces: annotations of Phoenix, scores of
Langfuse, feedback of LangSmith and Weave. Each names a trace, a session or a span, and becomes a
score of it. Weave's are thumbs, other emoji, notes, annotations and what scorers gave back.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from synth.importers.labelling.rows import LabelRow
from synth.importers.records import (
    ImportedLabel,
    Object,
    Record,
    inside,
    is_object,
    number_in,
    scored,
)

_SUBJECTS = (
    *("span_id", "spanId", "trace_id", "traceId", "run_id", "session_id", "sessionId"),
    "observationId",
)

REACTION = "reaction"
"""What the score of thumbs is called."""
_TONE = re.compile("[\U0001f3fb-\U0001f3ff]|::?skin-tone-\\d")
"""Of a skin, in an emoji or in its name."""
_UP = {"👍", "+1", "thumbs_up", "thumbsup"}
_DOWN = {"👎", "-1", "thumbs_down", "thumbsdown"}


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
    about = {
        "label": told.get("label") or told.get("stringValue"),
        "comment": told.get("explanation") or told.get("comment"),
        "annotator": value.get("annotator_kind") or value.get("source"),
    }
    mark = scored(f"annotation.{name}", number, about, str(name))
    alone = value.get("observationId")
    subjects = [alone] if alone else filter(None, map(value.get, _SUBJECTS))
    return LabelRow(record=record, keys=tuple(map(str, subjects)), marks=(mark,))


def is_feedback(value: Any) -> bool:
    """Whether a value is a row of feedback."""
    return is_object(value, feedback_type=str, payload=dict)


def feedback_marks(rows: Sequence[Any], *, whole: bool) -> list[ImportedLabel]:
    """The feedback on one call as labels; as scores where it is of the `whole`. Thumbs that
    contradict each other are no score.
    """
    marks = [mark for row in rows if is_feedback(row) for mark in _marks(row)]
    values = {mark.value for mark in marks if mark.score == REACTION}
    kept = []
    for mark in marks:
        torn = mark.score == REACTION and len(values) > 1
        score = mark.score if whole and not torn else None
        kept.append(ImportedLabel(mark.metric, mark.value, None, mark.detail, score))
    return kept


def _marks(row: Object) -> Iterator[ImportedLabel]:
    kind, payload = row["feedback_type"], row["payload"]
    about = {"annotator": row.get("creator")} if row.get("creator") else {}
    named = kind.removeprefix("wandb.")
    if named.startswith("reaction"):
        yield _reaction(payload, about)
    elif named.startswith("note"):
        yield ImportedLabel("weave.note", None, None, about | {"comment": payload.get("note")})
    elif named.startswith("annotation."):
        yield _score(named.removeprefix("annotation."), payload.get("value"), about)
    else:
        yield from _scored(named.removeprefix("runnable."), payload, about)


def _reaction(payload: Object, about: Object) -> ImportedLabel:
    """A thumb says yes or no; another emoji says something else."""
    keys = ("detoned", "emoji", "detoned_alias", "alias")
    names = {_TONE.sub("", str(payload.get(key) or "")).strip(":") for key in keys}
    emoji = next(filter(None, (payload.get("emoji"), payload.get("alias"))), None)
    if names & (_UP | _DOWN):
        value, words = (1.0, "thumbs_up") if names & _UP else (0.0, "thumbs_down")
        told = about | {"emoji": emoji, "label": words}
        return ImportedLabel("weave.reaction", value, None, told, REACTION)
    return ImportedLabel("weave.reaction", None, None, about | {"emoji": emoji})


def _scored(name: str, payload: Object, about: Object) -> Iterator[ImportedLabel]:
    """What a scorer gave back, or what somebody's own kind of feedback holds: a value, or several
    by name.
    """
    held = payload.get("output", payload)
    for key, value in held.items() if isinstance(held, dict) else [("", held)]:
        number = isinstance(inside(value, "mean"), int | float)
        yield _score(".".join(filter(None, (name, key))), value["mean"] if number else value, about)


def _score(name: str, value: Any, about: Object) -> ImportedLabel:
    told = about | ({"label": value} if isinstance(value, str) else {})
    return ImportedLabel(f"weave.{name}", number_in(value), None, told or None, name)
