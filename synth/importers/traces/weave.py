"""Weave exports: calls (`op_name`, `trace_id`), with the feedback on them in their summary."""

from collections.abc import Iterator
from typing import Any

from synth.importers.chats.columns import chat_of, parsed
from synth.importers.labelling.annotations import feedback_marks
from synth.importers.records import Record, first_inside, inside, is_object
from synth.importers.traces.bodies import answers_of, is_answered
from synth.importers.traces.calls import Told, by_call
from synth.importers.traces.model_call import ModelCall, TraceNote
from synth.importers.traces.sides import about, given, sent, with_usage

_SESSIONS = ("attributes.session_id", "attributes.thread_id", "thread_id")


def recognises(value: Any) -> bool:
    """A call of an op, with what went in."""
    return is_object(value, "inputs", op_name=str, trace_id=str)


def _calls(record: Record) -> Iterator[Told]:
    """The call, and the feedback on it: an op of the program around calls of a model has that
    alone, or the whole conversation where no call of a model was traced.
    """
    value = record.value
    trace, is_root = value["trace_id"], not value.get("parent_id")
    feedback = inside(value, "summary.weave.feedback", list) or inside(value, "feedback", list)
    marks = feedback_marks(feedback or [], whole=is_root)
    called = str(value.get("id") or "")
    yield TraceNote(trace, tuple(marks), (called,) if is_root and called else ())

    yield from _call(record, (trace, called))


def _call(record: Record, names: tuple[str, str]) -> Iterator[ModelCall]:
    """The call of a model; of an op of the program, its messages with its answer."""
    value = record.value
    asked, told = parsed(value.get("inputs")), answers_of(value.get("output"))
    is_call = is_answered(told)
    if not isinstance(asked, dict) or not (is_call or chat_of(asked)):
        return
    answers = given(told)
    if not answers or not sent(asked):
        return

    trace, called = names
    session = first_inside(value, _SESSIONS, str)
    yield ModelCall(
        record=record,
        sent=sent(asked),
        given=with_usage(answers[0], told),
        group=session or trace,
        order=value.get("started_at"),
        names=tuple(filter(None, (trace, session, called))),
        whole=not is_call,
        **about(asked, told),
    )


FORMAT = by_call("weave", recognises, lambda: _calls)
