"""OpenTelemetry traces of calls of a model: the GenAI conventions (messages as attributes or as
events), OpenLLMetry, OpenInference (Phoenix), the Vercel AI SDK. Evaluations are events by these
conventions, or attributes of a span.
"""

from collections.abc import Iterator
from typing import Any

from synth.importers.attempt import stated_end
from synth.importers.chats.columns import parsed
from synth.importers.chats.dialogue import dialogue
from synth.importers.chats.tools import tools_of
from synth.importers.records import (
    ImportedLabel,
    Object,
    Record,
    first_inside,
    first_of,
    inside,
    scored,
)
from synth.importers.traces.calls import Told, by_call
from synth.importers.traces.model_call import ModelCall, TraceNote, used
from synth.importers.traces.opentelemetry.span_messages import (
    ANSWERS,
    CONVENTIONS,
    DETAILS,
    messages_of_call,
)
from synth.importers.traces.opentelemetry.spans import TraceSpan, is_spans, spans

_CHAT = ("chat", "text_completion", "generate_content", "completion", "responses")
_SAMPLING = ("temperature", "top_p", "max_tokens", "seed", "top_k")
_MODELS = (
    *("gen_ai.response.model", "gen_ai.request.model", "llm.model_name"),
    *("ai.response.model", "ai.model.id"),
)
_PARENTS = ("parentSpanId", "parent_span_id", "parent_id", "parentId")
_ROOTS = ("", "0000000000000000")
_AGENTS = ("invoke_agent", "AGENT")


def _calls(record: Record) -> Iterator[Told]:
    """The calls of a model among the spans of a record; other spans say nothing that these lack."""
    for span in spans(record):
        note = _evaluated(span)
        if note is not None:
            yield note
        if not _is_call(span):
            continue

        before, answer = messages_of_call(span)
        if not answer:
            yield span.record.rejected("no_content", f"span {span.name!r}: {_why_none(span)}")
            continue

        about = span.attributes
        chat = dialogue(before, _system(about), actions=False).messages
        back = dialogue([{"role": "assistant"} | one for one in answer], actions=False).messages
        usage = used(inside(about, "gen_ai.usage") or inside(about, "llm.token_count"))
        if usage is not None:
            back[0]["note"]["usage"] = usage

        session = first_inside(about, ("gen_ai.conversation.id", "session.id"), str)
        yield ModelCall(
            record=span.record,
            sent=chat,
            given=back,
            group=session or span.trace,
            order=span.start,
            tools=_tools(about),
            model=first_inside(about, _MODELS, str),
            sampling=_sampling(about),
            names=tuple(filter(None, (session, span.trace))),
            **_end(about, answer),
        )


def _why_none(span: TraceSpan) -> str:
    """Why a call has no answer."""
    code = inside(span.record.value, "status.code") or span.record.value.get("status_code")
    if inside(span.attributes, "error.type") or str(code).upper().endswith(("ERROR", "2")):
        return "a call that failed: no answer of the model"
    return "a call without its messages: the exporter captured no content"


def _is_call(span: TraceSpan) -> bool:
    about = span.attributes
    kind = str(inside(about, "openinference.span.kind") or inside(span.record.value, "span_kind"))
    if kind.upper() == "LLM":
        return True
    if inside(about, "gen_ai.operation.name") is not None:
        return str(inside(about, "gen_ai.operation.name")) in _CHAT
    if inside(about, "ai.prompt.messages") is not None:  # Vercel's, of each single step
        return inside(about, "ai.response") is not None and "do" in span.name
    paths = ("gen_ai.output.messages", *(answered for _, answered in CONVENTIONS))
    if any(inside(about, path) is not None for path in paths):
        return True
    return any(name in ANSWERS or name.endswith(DETAILS) for name, _ in span.events)


def _system(about: Object) -> Any:
    told = parsed(inside(about, "gen_ai.system_instructions"))
    parts = told if isinstance(told, list) else [told] if told else []
    texts = [
        one.get("content") or one.get("text") if isinstance(one, dict) else one for one in parts
    ]
    return "\n".join(one for one in texts if isinstance(one, str)) or None


def _tools(about: Object) -> tuple[Object, ...]:
    paths = ("gen_ai.tool.definitions", "llm.tools", "llm.request.functions", "ai.prompt.tools")
    found = next((one for path in paths if (one := inside(about, path)) is not None), None)
    invoked = parsed(inside(about, "llm.invocation_parameters"))
    found = parsed(found) or inside(invoked, "tools", list)
    listed = [one.get("tool", one) if isinstance(one, dict) else parsed(one) for one in found or ()]
    for one in listed:
        if isinstance(one, dict) and isinstance(one.get("parameters"), str):
            one["parameters"] = parsed(one["parameters"])
    return tools_of(listed)


def _sampling(about: Object) -> Object:
    asked = inside(about, "gen_ai.request") or parsed(inside(about, "llm.invocation_parameters"))
    if not isinstance(asked, dict):
        return {}
    return {key: asked[key] for key in _SAMPLING if isinstance(asked.get(key), int | float)}


def _end(about: Object, answer: list[Any]) -> Object:
    """A limit of tokens, where the answer broke off at one."""
    told = parsed(inside(about, "gen_ai.response.finish_reasons"))
    own = [one.get("finish_reason") for one in answer if isinstance(one, dict)]
    words = {str(one).lower() for one in [*(told if isinstance(told, list) else [told]), *own]}
    return {"end": stated_end("length")} if words & {"length", "max_tokens"} else {}


def _evaluated(span: TraceSpan) -> TraceNote | None:
    """What a span says of its trace: its evaluations, and its id, by which others name it. None
    where it says nothing.
    """
    marks = tuple(_labels(span))
    if span.trace is None or not (marks or _is_root(span)):
        return None
    named = span.span_id
    return TraceNote(span.trace, marks, () if named is None else (named,))


def _is_root(span: TraceSpan) -> bool:
    """Whether a span stands for its whole trace: it has no parent, or is an agent's."""
    value, about = span.record.value, span.attributes
    parent = first_of(value, _PARENTS)
    kinds = (
        inside(about, "gen_ai.operation.name"),
        inside(about, "openinference.span.kind"),
        value.get("span_kind"),
    )
    return parent is None or parent in _ROOTS or any(kind in _AGENTS for kind in kinds)


def _labels(span: TraceSpan) -> Iterator[ImportedLabel]:
    whole = _is_root(span)
    for told in (span.attributes, *(told for _, told in span.events)):
        found = inside(told, "gen_ai.evaluation", dict) or {}
        name: Any = found.get("name")
        if not isinstance(name, str) or not name:
            continue
        about = {"label": inside(found, "score.label"), "comment": found.get("explanation")}
        value = inside(found, "score.value")
        yield scored(f"otel.{name}", value, about, name if whole else None)


FORMAT = by_call("otel", is_spans, lambda: _calls)
