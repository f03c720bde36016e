"""OpenTelemetry traces of calls of a model: the GenAI conventions (messages as attributes or as
events), OpenLLMetry, OpenInference (Phoenix), the Vercel AI SDK.
"""

from collections.abc import Iterator
from typing import Any

from synth.importers.attempt import end_of
from synth.importers.chats.columns import parsed
from synth.importers.chats.dialogue import dialogue
from synth.importers.chats.tools import tools_of
from synth.importers.chats.words import ENDS
from synth.importers.records import (
    Entry,
    Format,
    ImportSettings,
    Object,
    Record,
    Records,
    Rejection,
    inside,
)
from synth.importers.traces.calls import conversations
from synth.importers.traces.evaluations import evaluated
from synth.importers.traces.model_call import ModelCall, used
from synth.importers.traces.notes import TraceNote
from synth.importers.traces.span_messages import ANSWERS, CONVENTIONS, DETAILS, messages_of_call
from synth.importers.traces.spans import TraceSpan, is_spans, spans

_CHAT = ("chat", "text_completion", "generate_content", "completion", "responses")
_SAMPLING = ("temperature", "top_p", "max_tokens", "seed", "top_k")


def _calls(record: Record) -> Iterator[ModelCall | TraceNote | Rejection]:
    """The calls of a model among the spans of a record; other spans say nothing that these lack."""
    for span in spans(record):
        note = evaluated(span)
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

        session = inside(about, "gen_ai.conversation.id", str) or inside(about, "session.id", str)
        yield ModelCall(
            record=span.record,
            sent=chat,
            given=back,
            group=session or span.trace,
            order=span.start,
            tools=_tools(about),
            model=_model(about),
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


def _model(about: Object) -> str | None:
    paths = (
        *("gen_ai.response.model", "gen_ai.request.model", "llm.model_name"),
        *("ai.response.model", "ai.model.id"),
    )
    return next((one for path in paths if (one := inside(about, path, str))), None)


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
    return {"end": end_of(ENDS["length"])} if words & {"length", "max_tokens"} else {}


def _read(records: Records, settings: ImportSettings) -> Iterator[Entry]:
    return conversations("otel", _calls, records, settings)


FORMAT = Format(is_spans, _read)
