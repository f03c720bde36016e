"""Langfuse exports: observations (`type` GENERATION, ...), or traces with theirs inside."""

from collections.abc import Iterator
from typing import Any

from synth.importers.chats.columns import opened, parsed
from synth.importers.chats.tools import tools_of
from synth.importers.records import (
    ImportedLabel,
    Object,
    Record,
    Rejection,
    inside,
    is_object,
    scored,
)
from synth.importers.traces.calls import Told, by_call
from synth.importers.traces.model_call import ModelCall
from synth.importers.traces.sides import given, sent, unanswered, with_usage

_TYPES = [
    "GENERATION",
    "SPAN",
    "EVENT",
    "AGENT",
    "TOOL",
    "CHAIN",
    "RETRIEVER",
    "EVALUATOR",
    "EMBEDDING",
    "GUARDRAIL",
]
_TRACE = ("traceId", "trace_id")


def recognises(value: Any) -> bool:
    """An observation with its type and trace, or a trace with observations."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("observations"), list):
        return any(is_object(one, type=str) for one in value["observations"])
    named = any(key in value for key in _TRACE)
    return named and value.get("type") in _TYPES and "input" in value


def _calls(record: Record) -> Iterator[Told]:
    value = record.value
    if not isinstance(value.get("observations"), list):
        yield from _call(record, {})
        return

    for part in record.parts("observations", value["observations"]):
        if isinstance(part.value, dict):
            yield from _call(part, value)


def _call(record: Record, trace: Object) -> Iterator[ModelCall | Rejection]:
    """A generation as a call; all else that a trace holds is within the messages of one."""
    value = record.value
    if value.get("type") != "GENERATION":
        return

    asked, parameters = opened(value.get("input")), parsed(value.get("modelParameters"))
    answers = given(value.get("output"))
    if not any(answers):
        yield record.rejected("no_content", unanswered(value.get("level") == "ERROR"))
        return
    asked, listed = _without_tools(asked)

    model = value.get("model") or value.get("providedModelName")
    yield ModelCall(
        record=record,
        sent=sent(asked),
        given=with_usage(answers[0], _usage(value)),
        order=value.get("startTime") or value.get("start_time"),
        tools=tools_of(inside(asked, "tools") or listed),
        model=model if isinstance(model, str) else None,
        sampling=parameters if isinstance(parameters, dict) else {},
        **_about(value, trace),
    )


def _about(value: Object, trace: Object) -> Object:
    """Of which trace and session a generation is, and what is said of these."""
    trace_id = next(filter(None, map(value.get, _TRACE)), trace.get("id"))
    session = trace.get("sessionId") or value.get("sessionId") or trace_id
    names = (trace_id, session, trace.get("name"))
    return {
        "group": str(session) if session else None,
        "names": tuple(str(one) for one in names if one),
        "marks": list(_scores(trace)),
    }


def _without_tools(asked: Any) -> tuple[Any, list[Any]]:
    """The request without the schemas of tools that LangChain's handler puts among its messages,
    and these.
    """
    if not isinstance(asked, list):
        return asked, []
    tools = [one for one in asked if is_object(inside(one, "content"), "function", type=str)]
    return [one for one in asked if one not in tools], [one["content"] for one in tools]


def _usage(value: Object) -> Object:
    """The counts of an observation, which CSV holds as text."""
    counts = parsed(value.get("usageDetails")) or parsed(value.get("usage"))
    return {"usage": counts} if isinstance(counts, dict) else {}


def _scores(trace: Object) -> Iterator[ImportedLabel]:
    """The scores of a trace; those of a single observation are none of the whole."""
    for one in trace.get("scores") or ():
        if is_object(one, name=str):
            about = {key: one.get(key) for key in ("stringValue", "comment")}
            whole = one["name"] if one.get("observationId") is None else None
            yield scored(f"langfuse.{one['name']}", one.get("value"), about, whole)


FORMAT = by_call("langfuse", recognises, lambda: _calls)
