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
from synth.importers.traces.calls import ModelCall, conversations, used
from synth.importers.traces.evaluations import evaluated
from synth.importers.traces.notes import TraceNote
from synth.importers.traces.sides import given, sent
from synth.importers.traces.spans import TraceSpan, is_spans, spans

_CHAT = ("chat", "text_completion", "generate_content", "completion", "responses")
_EVENT_ROLES = {"system", "user", "assistant", "tool"}
_SAMPLING = ("temperature", "top_p", "max_tokens", "seed", "top_k")


def _calls(record: Record) -> Iterator[ModelCall | TraceNote | Rejection]:
    """The calls of a model among the spans of a record; other spans say nothing that these lack."""
    for span in spans(record):
        note = evaluated(span)
        if note is not None:
            yield note
        if not _is_call(span):
            continue

        before, answer = _messages(span)
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
    paths = ("gen_ai.output.messages", *(answered for _, answered in _CONVENTIONS))
    if any(inside(about, path) is not None for path in paths):
        return True
    return any(name in _ANSWERS or name.endswith(_DETAILS) for name, _ in span.events)


def _messages(span: TraceSpan) -> tuple[list[Any], list[Any]]:
    """What was sent and what came back, under whichever convention has both or one."""
    about = span.attributes
    details = [one for name, one in span.events if name.endswith(_DETAILS)]

    for one in (about, *details):
        back = _listed(inside(one, "gen_ai.output.messages"))
        if back:
            return _listed(inside(one, "gen_ai.input.messages")), back

    for asked, answered in _CONVENTIONS:
        back = _listed(inside(about, answered))
        if back:
            return _listed(inside(about, asked)), back

    if inside(about, "ai.response") is not None:
        calls = parsed(inside(about, "ai.response.toolCalls"))
        text = inside(about, "ai.response.text")
        back = [{"role": "assistant", "content": text, "tool_calls": calls}]
        return _listed(inside(about, "ai.prompt.messages")), back if text or calls else []

    before, back = _from_events(span)
    return (before, back) if back else _from_values(about)


_DETAILS = "inference.operation.details"
_ANSWERS = ("gen_ai.choice", "gen_ai.content.completion")
_CONVENTIONS = (
    ("llm.input_messages", "llm.output_messages"),
    ("gen_ai.prompt", "gen_ai.completion"),
    ("llm.prompts", "llm.completions"),
)


def _from_values(about: Object) -> tuple[list[Any], list[Any]]:
    """Request and response as OpenInference has them whole, where no messages stand beside them."""
    asked, told = (parsed(inside(about, path)) for path in ("input.value", "output.value"))
    answers = given(told)
    return (sent(asked), answers[0]) if asked and answers else ([], [])


def _from_events(span: TraceSpan) -> tuple[list[Any], list[Any]]:
    """The messages of a span whose events are its messages."""
    before, back = [], []
    listed = parsed(inside(span.attributes, "events"))  # Logfire keeps them in an attribute
    rows = listed if isinstance(listed, list) else []
    kept = [(str(one.get("event.name")), one) for one in rows if isinstance(one, dict)]
    for name, told in map(_opened, [*span.events, *kept]):
        role = name.removeprefix("gen_ai.").removesuffix(".message")
        if name == "gen_ai.choice":
            message = parsed(told.get("message")) or told
            back += [message if isinstance(message, dict) else {"content": message}]
        elif name.startswith("gen_ai.") and role in _EVENT_ROLES:
            calls = parsed(told.get("tool_calls"))
            message = {"role": role} | told | ({"tool_calls": calls} if calls else {})
            if role == "tool" and "id" in told:
                message["tool_call_id"] = told["id"]
            before.append(message)
        elif name == "gen_ai.content.prompt":
            before += _listed(inside(told, "gen_ai.prompt"))
        elif name == "gen_ai.content.completion":
            back += _listed(inside(told, "gen_ai.completion"))

    return before, back[:1]


def _opened(event: tuple[str, Object]) -> tuple[str, Object]:
    """An event with what its content says, where that is JSON text of its own."""
    name, told = event
    content = parsed(inside(told, "gen_ai.event.content"))
    return name, told | content if isinstance(content, dict) else told


def _listed(value: Any) -> list[Any]:
    """Messages out of an attribute: a list, or its JSON text."""
    value = parsed(value)
    found = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
    return [_message(one) for one in found]


def _message(value: Any) -> Any:
    """A message with its content where the others have it."""
    value = parsed(value)
    message = value.get("message", value) if isinstance(value, dict) else value
    if not isinstance(message, dict):
        return message

    contents = message.get("contents")
    if isinstance(contents, list):  # OpenInference's parts
        parts = [one.get("message_content", one) for one in contents if isinstance(one, dict)]
        message = message | {"content": parts}
    content = message.get("content")
    if isinstance(content, str) and content.startswith("[{") and '"type"' in content:
        message = message | {"content": parsed(content)}  # OpenLLMetry writes parts as text
    return message


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
