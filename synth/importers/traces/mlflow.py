"""MLflow traces: `{info, data: {spans}}`, with assessments of the whole."""

from collections.abc import Iterator
from typing import Any

from synth.importers.chats.columns import parsed
from synth.importers.chats.tools import tools_of
from synth.importers.records import (
    ImportedLabel,
    Object,
    Record,
    inside,
    is_object,
    scored,
)
from synth.importers.traces.calls import Told, by_call
from synth.importers.traces.model_call import ModelCall, TraceNote
from synth.importers.traces.sides import about, given, sent, with_usage

_CALLS = ("CHAT_MODEL", "LLM")


def recognises(value: Any) -> bool:
    """A trace with its spans."""
    return is_object(value, info=dict) and inside(value, "data.spans", list) is not None


def _calls(record: Record) -> Iterator[Told]:
    """The calls of a model among a trace's spans, and what its assessments say."""
    info: Object = record.value["info"]
    name = str(info.get("trace_id") or info.get("request_id") or record.locator)
    asked_as = info.get("client_request_id")
    yield TraceNote(name, tuple(_scores(info)), (asked_as,) if isinstance(asked_as, str) else ())

    for span in record.parts("data/spans", record.value["data"]["spans"]):
        if isinstance(span.value, dict):
            yield from _call(span, name)


def _call(span: Record, name: str) -> Iterator[ModelCall]:
    """The call that a span is, where it is one and was answered."""
    held = span.value.get("attributes") or {}
    told = {key: parsed(one) for key, one in held.items()}  # each is JSON text
    if told.get("mlflow.spanType") not in _CALLS:
        return
    asked, answered = told.get("mlflow.spanInputs"), told.get("mlflow.spanOutputs")
    answers = given(answered)
    if answers:
        said = about(asked, answered)
        said["tools"] = said["tools"] or tools_of(told.get("mlflow.chat.tools") or ())
        yield ModelCall(
            record=span,
            sent=sent(asked),
            given=with_usage(answers[0], answered),
            group=name,
            order=span.value.get("start_time_unix_nano") or span.value.get("start_time"),
            names=(name,),
            **said,
        )


def _scores(info: Object) -> Iterator[ImportedLabel]:
    """Feedback that is still valid; expectations say what should have come, and are no scores."""
    for one in info.get("assessments") or ():
        if not is_object(one, assessment_name=str, feedback=dict) or one.get("valid") is False:
            continue
        value, name = one["feedback"].get("value"), one["assessment_name"]
        about = {
            "label": value if isinstance(value, str) else None,
            "comment": one.get("rationale"),
            "annotator": inside(one, "source.source_type", str),
        }
        yield scored(f"mlflow.{name}", value, about, None if one.get("span_id") else name)


FORMAT = by_call("mlflow", recognises, lambda: _calls)
