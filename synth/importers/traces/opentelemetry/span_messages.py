"""The messages of a span, under whichever convention it has them."""

from typing import Any

from synth.importers.chats.columns import opened, parsed
from synth.importers.records import Object, inside
from synth.importers.traces.opentelemetry.spans import TraceSpan
from synth.importers.traces.sides import given, sent

_EVENT_ROLES = {"system", "user", "assistant", "tool"}


def messages_of_call(span: TraceSpan) -> tuple[list[Any], list[Any]]:
    """What was sent and what came back, under whichever convention has both or one."""
    about = span.attributes
    details = [one for name, one in span.events if name.endswith(DETAILS)]

    for one in (about, *details):
        back = _listed(inside(one, "gen_ai.output.messages"))
        if back:
            return _listed(inside(one, "gen_ai.input.messages")), back

    for asked, answered in CONVENTIONS:
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


DETAILS = "inference.operation.details"


ANSWERS = ("gen_ai.choice", "gen_ai.content.completion")


CONVENTIONS = (
    ("llm.input_messages", "llm.output_messages"),
    ("gen_ai.prompt", "gen_ai.completion"),
    ("llm.prompts", "llm.completions"),
)


def _from_values(about: Object) -> tuple[list[Any], list[Any]]:
    """Request and response as OpenInference has them whole, where no messages stand beside them."""
    asked, told = (opened(inside(about, path)) for path in ("input.value", "output.value"))
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
            before.append(_told(role, told))
        elif name == "gen_ai.content.prompt":
            before += _listed(inside(told, "gen_ai.prompt"))
        elif name == "gen_ai.content.completion":
            back += _listed(inside(told, "gen_ai.completion"))

    return before, back[:1]


def _told(role: str, said: Object) -> Object:
    """The message that an event of a role is."""
    calls = parsed(said.get("tool_calls"))
    message = {"role": role} | said | ({"tool_calls": calls} if calls else {})
    if role == "tool" and "id" in said:
        message["tool_call_id"] = said["id"]
    return message


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
