"""Feedback of Weave: thumbs, other emoji, notes, annotations and what scorers gave back."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from synth.importers.records import ImportedLabel, Object, inside, is_object

REACTION = "reaction"
"""What the score of thumbs is called."""
_TONE = re.compile("[\U0001f3fb-\U0001f3ff]|::?skin-tone-\\d")
"""Of a skin, in an emoji or in its name."""
_UP = {"👍", "+1", "thumbs_up", "thumbsup"}
_DOWN = {"👎", "-1", "thumbs_down", "thumbsdown"}


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
    number = float(value) if isinstance(value, int | float) else None
    told = about | ({"label": value} if isinstance(value, str) else {})
    return ImportedLabel(f"weave.{name}", number, None, told or None, name)
