"""Spans of traces in any of the forms in which they are exported, with their attributes as nested
objects.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from synth.importers.chats.columns import parsed
from synth.importers.records import Object, Record, inside, is_object

_GROUPS = ("resourceSpans", "resource_spans", "batches", "resourceLogs", "resource_logs")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs")
_LOGS = ("logRecords", "log_records")


class TraceSpan(msgspec.Struct, frozen=True):
    """One span; `attributes` are nested at their dots, lists where the keys are numbers."""

    record: Record
    trace: str | None
    name: str
    start: str
    attributes: Object
    events: list[tuple[str, Object]]

    @property
    def span_id(self) -> str | None:
        """Its own id; None where it has none."""
        value = self.record.value
        found = (value.get(key) for key in ("spanId", "span_id", "context.span_id"))
        named = next(filter(None, found), None) or inside(value, "context.span_id")
        return str(named) if named else None


def is_spans(value: Any) -> bool:
    """A document of OTLP, or a span as an SDK or Phoenix writes it."""
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(key), list) for key in (*_GROUPS, *_SCOPES)):
        return True
    if isinstance(value.get("spans"), list):
        return any(is_spans(one) for one in value["spans"][:3])
    ids = ("span_id", "spanId", "context.span_id")
    known = any(key in value for key in ids) or is_object(value.get("context"), "span_id")
    return known and any(str(key).startswith("attributes") for key in value)


def spans(record: Record) -> Iterator[TraceSpan]:
    """The spans of a record, each with a place of its own where there are several."""
    value = record.value
    logged: dict[object, TraceSpan] = {}
    for place, one in _found(value, ""):
        span = _span(record if one is value else record.part(place, one))
        if not _is_log(one):
            yield span
            continue
        # messages that were logged as they came are the events of their span
        told = _body(one.get("body"))
        key = one.get("spanId") or one.get("span_id") or place
        of = logged.setdefault(key, msgspec.structs.replace(span, events=[]))
        of.events.append((span.name, told | span.attributes))

    yield from logged.values()


def _body(value: Any) -> Object:
    """What a record of a log says: typed as attributes are, plain, or as JSON text."""
    is_typed = isinstance(value, dict) and any(key.endswith(("Value", "_value")) for key in value)
    told = parsed(_typed(value) if is_typed else value)
    return nested(plain(told)) if isinstance(told, dict | list) else {"content": told}


def _is_log(value: Object) -> bool:
    return any(key in value for key in ("timeUnixNano", "observedTimeUnixNano", "body"))


def _found(value: Any, place: str) -> Iterator[tuple[str, Object]]:
    if not isinstance(value, dict):
        return
    inner = [
        key for key in (*_GROUPS, *_SCOPES, *_LOGS, "spans") if isinstance(value.get(key), list)
    ]
    for key in inner:
        for index, one in enumerate(value[key]):
            yield from _found(one, f"{place}/{key}/{index}".strip("/"))
    if not inner:
        yield place, value


def _attributes(value: Object) -> Object:
    """The attributes of a span, those that stand beside its other keys too."""
    told = parsed(value.get("attributes"))  # Phoenix's API gives them as JSON text
    flat = {key: one for key, one in value.items() if str(key).startswith("attributes.")}
    beside = {key.removeprefix("attributes."): one for key, one in flat.items()}
    return (plain(told) if isinstance(told, dict | list) else {}) | beside


def _span(record: Record) -> TraceSpan:
    value: Object = record.value
    attributes = _attributes(value)
    trace = (
        value.get("traceId")
        or value.get("trace_id")
        or value.get("context.trace_id")
        or inside(value, "context.trace_id")
    )
    start = next((value[key] for key in _STARTS if value.get(key) is not None), "")
    events = [
        (str(one.get("name")), nested(plain(one.get("attributes") or one.get("body") or {})))
        for one in value.get("events") or ()
        if isinstance(one, dict)
    ]
    named = (value.get("name"), value.get("eventName"), attributes.get("event.name"))
    name = str(next(filter(None, named), ""))
    trace = str(trace) if trace else None
    return TraceSpan(record, trace, name, str(start), nested(attributes), events)


_STARTS = (
    *("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "start"),
    *("timeUnixNano", "observedTimeUnixNano"),
)


def plain(attributes: Any) -> Object:
    """Attributes as an object: OTLP writes them as a list of keys with typed values."""
    if isinstance(attributes, dict):
        return attributes
    return {one["key"]: _typed(one.get("value")) for one in attributes if is_object(one, key=str)}


def _typed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    # protobuf's own names: string_value for stringValue
    value = {re.sub("_v", "V", key): one for key, one in value.items()}
    if "intValue" in value:
        return int(value["intValue"])
    if is_object(value.get("arrayValue"), values=list):
        return [_typed(one) for one in value["arrayValue"]["values"]]
    if is_object(value.get("kvlistValue"), values=list):
        return plain(value["kvlistValue"]["values"])
    keys = ("stringValue", "doubleValue", "boolValue", "bytesValue", "arrayValue", "kvlistValue")
    return next((value[key] for key in keys if key in value), None)


def nested(flat: Object) -> Object:
    """Keys such as `llm.input_messages.0.message.role` as objects and lists within each other. A
    value that stands where others have parts is left out in favour of these.
    """
    found: Object = {}
    for key, value in sorted(flat.items(), key=lambda one: one[0].count(".")):
        *path, last = str(key).split(".")
        holder = found
        for step in path:
            inner = holder.get(step)
            if isinstance(inner, list):
                inner = {str(place): one for place, one in enumerate(inner)}
            holder[step] = inner if isinstance(inner, dict) else {}
            holder = holder[step]
        if isinstance(value, list):
            value = [nested(one) if _is_dotted(one) else one for one in value]
        elif _is_dotted(value):
            value = nested(value)
        if not isinstance(holder.get(last), dict):
            holder[last] = value

    return {key: _lists(value) for key, value in found.items()}


def _is_dotted(value: Any) -> bool:
    """Whether an object's keys are attributes (`message.role`), and not somebody's arguments."""
    return isinstance(value, dict) and any(_ATTRIBUTE.match(str(key)) for key in value)


_ATTRIBUTE = re.compile(r"(message|message_content|tool_call|tool)\.[a-z]")


def _lists(value: Any) -> Any:
    """Objects whose keys are numbers as lists."""
    if not isinstance(value, dict):
        return value
    inner = {key: _lists(one) for key, one in value.items()}
    if inner and all(str(key).isdigit() for key in inner):
        return [inner[key] for key in sorted(inner, key=int)]
    return inner
