"""What a reflection says, and how it is read out of a reply: every key checked, nothing guessed
(R3L, arXiv 2601.03715).
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

import msgspec

from synth.engine.asking import UnreadableError
from synth.schemas.canonical import valid_text

Judged = Literal["success", "success_but_inefficient", "failure"]
LONGEST_TEXT = 4000
"""Characters of one field: what is whispered is a lesson, not a transcript."""
MOST_BRACES = 400
"""Places in a reply at which an object may begin; the last ones are tried."""
_WHOLE_NUMBER = re.compile(r"\s*[0-9]{1,9}\s*", re.ASCII)
_DECODER = json.JSONDecoder()


class Reflection(msgspec.Struct, frozen=True):
    """A diagnosis in the five fields of R3L. `improvement_suggestion` and `retry_from_step` are
    None iff the outcome is `success`.
    """

    trajectory_summary: str
    root_cause_analysis: str | None
    trajectory_outcome: Judged
    improvement_suggestion: str | None
    retry_from_step: int | None


KEYS = Reflection.__struct_fields__


def parsed_reflection(reply: str, turns: int) -> Reflection:
    """The reflection in a reply on an attempt of `turns` turns: the last JSON object in it that has
    one of its keys.

    Raises `UnreadableError` with the first thing that is wrong, in words that the model can act on.
    """
    found = [value for value in _objects(reply) if not value.keys().isdisjoint(KEYS)]
    if not found:
        raise UnreadableError(f"it holds no JSON object with the keys {', '.join(KEYS)}")
    value = found[-1]
    missing = [key for key in KEYS if key not in value]
    if missing:
        raise UnreadableError(f"the JSON object lacks {', '.join(missing)}")
    outcome, suggestion = value["trajectory_outcome"], value["improvement_suggestion"]
    if outcome not in get_args(Judged):
        raise UnreadableError(
            f"trajectory_outcome is {_short(outcome)}, none of {', '.join(get_args(Judged))}"
        )
    summary = _text(value, "trajectory_summary")
    cause = None if value["root_cause_analysis"] is None else _text(value, "root_cause_analysis")
    if outcome == "success":
        for key in ("improvement_suggestion", "retry_from_step"):
            if value[key] is not None:
                raise UnreadableError(
                    f"{key} is {_short(value[key])}; it is null where the outcome is success"
                )
        return Reflection(summary, cause, outcome, None, None)
    if suggestion is None:
        raise UnreadableError(
            f"improvement_suggestion is null; it is a text where the outcome is {outcome}"
        )
    advice = _text(value, "improvement_suggestion")
    return Reflection(summary, cause, outcome, advice, _step(value["retry_from_step"], turns))


def _step(value: Any, turns: int) -> int:
    """A whole number, or a text that is one and nothing else; booleans and fractions are none."""
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnreadableError(f"retry_from_step is {_short(value)}, not a whole number")
    if not 0 <= value < turns:
        raise UnreadableError(f"retry_from_step is {value}; the steps are 0 to {turns - 1}")
    return value


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value[key]
    if not isinstance(text, str):
        raise UnreadableError(f"{key} is {_short(text)}, not a text")
    if not text.strip():
        raise UnreadableError(f"{key} is empty")
    if len(text) > LONGEST_TEXT:
        raise UnreadableError(
            f"{key} has {len(text)} characters; at most {LONGEST_TEXT} are allowed"
        )
    return valid_text(text.strip())


def _objects(reply: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text, outermost ones only, in their order; prose, fences and broken
    drafts between them are passed over.
    """
    starts = [match.start() for match in re.finditer(r"\{", reply)][-MOST_BRACES:]
    end = 0
    for start in starts:
        if start < end:
            continue
        try:
            value, end = _DECODER.raw_decode(reply, start)
        except (ValueError, RecursionError):
            continue
        yield value


def _short(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
