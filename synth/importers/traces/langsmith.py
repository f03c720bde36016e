"""LangSmith exports: runs (`run_type` llm, chain, tool), with their children inside or beside."""

from collections.abc import Iterator
from typing import Any

from synth.importers.chats.columns import is_chat, parsed
from synth.importers.chats.tools import tools_of
from synth.importers.records import (
    ImportedLabel,
    Object,
    Record,
    Rejection,
    first_inside,
    inside,
    is_object,
)
from synth.importers.traces.calls import Told, by_call
from synth.importers.traces.model_call import ModelCall, TraceNote
from synth.importers.traces.sides import given, sent, unanswered, with_usage

_THREADS = ("extra.metadata.thread_id", "extra.metadata.session_id")
_USAGES = (
    "llm_output.token_usage",
    "usage_metadata",
    "generations.0.0.message.kwargs.usage_metadata",
)
_MODELS = (
    "extra.metadata.ls_model_name",
    "extra.invocation_params.model",
    "extra.invocation_params.model_name",
    "outputs.llm_output.model_name",
    "outputs.model",
    "inputs.model",
)


def recognises(value: Any) -> bool:
    """A run: its type, and what went in."""
    return is_object(value, "inputs", run_type=str)


def _calls(record: Record) -> Iterator[Told]:
    """The model's calls in a run and below it; of a chain without any, the messages that it ends
    with.
    """
    value = record.value
    about = _about(value)
    yield TraceNote(about["names"][0] if about["names"] else "", tuple(_scores(value)))
    if value.get("run_type") in ("llm", "chat_model"):
        yield from _call(record)
        return

    found = False
    for part in record.parts("child_runs", value.get("child_runs") or ()):
        if isinstance(part.value, dict):
            for call in _calls(part):
                found = found or not isinstance(call, TraceNote)
                yield call

    if not found and not value.get("parent_run_id"):
        yield from _whole(record)


def _call(record: Record) -> Iterator[ModelCall | Rejection]:
    value = record.value
    outputs = parsed(value.get("outputs")) or {}
    answers = given(outputs)
    if not any(answers):
        yield record.rejected("no_content", unanswered(value.get("error")))
        return

    asked = parsed(value.get("inputs")) or {}
    invoked = inside(value, "extra.invocation_params", dict) or {}
    usage = first_inside(outputs, _USAGES)
    yield ModelCall(
        record=record,
        sent=sent(asked),
        given=with_usage(answers[0], {"usage": usage} if isinstance(usage, dict) else outputs),
        order=value.get("dotted_order") or value.get("start_time"),
        tools=tools_of(
            invoked.get("tools") or invoked.get("functions") or asked.get("tools") or ()
        ),
        model=first_inside(value, _MODELS, str),
        **_about(value),
    )


def _whole(record: Record) -> Iterator[ModelCall]:
    """A root run whose output is the conversation (LangGraph): all of it, where no call is told."""
    messages = inside(parsed(record.value.get("outputs")), "messages", list)
    if messages is None or not is_chat(messages):
        return

    yield ModelCall(
        record=record,
        sent=sent(messages),
        given=[],
        order=record.value.get("dotted_order") or record.value.get("start_time"),
        whole=True,
        **_about(record.value),
    )


def _about(value: Object) -> Object:
    trace = value.get("trace_id") or value.get("session_id") or value.get("id")
    thread = first_inside(value, _THREADS)
    group = thread or trace
    names = tuple(str(one) for one in (trace, thread, value.get("id")) if one)
    return {"group": str(group) if group else None, "names": names}


def _scores(value: Object) -> Iterator[ImportedLabel]:
    """Feedback, as means; that of the root is of the whole."""
    is_root = not value.get("parent_run_id")
    for name, told in (value.get("feedback_stats") or {}).items():
        mean = told.get("avg") if isinstance(told, dict) else None
        if isinstance(mean, int | float):
            score = str(name) if is_root else None
            yield ImportedLabel(f"langsmith.{name}", float(mean), score=score)


FORMAT = by_call("langsmith", recognises, lambda: _calls)
