"""Every tool call of a conversation has its own id."""

from collections.abc import Iterable

from msgspec.structs import replace

from synth.schemas import Messages, ToolCall, canonical_json

MISSING = "call_id_missing"
TWICE = "call_sent_twice"
DUPLICATE = "call_id_duplicate"


def identified(
    calls: Iterable[ToolCall], messages: Messages
) -> tuple[tuple[ToolCall, ...], list[str]]:
    """The calls of a reply with an id each that nothing else in the conversation has, and the names
    of what had to be mended.

    Ids are kept as received where they can be; an empty one, or one that an earlier call has,
    becomes `call_{turn}_{i}`. Servers that number from zero in every reply would else tie a tool's
    answer to the wrong turn's call. One call that is sent twice under one id is one call.
    """
    said = [message for message in messages if message.get("role") == "assistant"]
    seen = {call["id"] for message in said for call in message.get("tool_calls") or ()}
    sent: set[tuple[str, str, bytes]] = set()
    kept: list[ToolCall] = []
    repairs: list[str] = []
    for i, call in enumerate(calls):
        call_id = call.call_id
        meaning = (call_id, call.name, arguments_meaning(call))
        if call_id and meaning in sent:
            repairs.append(TWICE)
            continue
        sent.add(meaning)
        if not call_id or call_id in seen:
            repairs.append(DUPLICATE if call_id else MISSING)
            call_id = f"call_{len(said)}_{i}"
            while call_id in seen:
                call_id += "_"
            call = replace(call, call_id=call_id)
        seen.add(call_id)
        kept.append(call)
    return tuple(kept), repairs


def arguments_meaning(call: ToolCall) -> bytes:
    """The arguments, two spellings of one JSON object being the same; those that are none as they
    stand.
    """
    try:
        return canonical_json(call.parsed())
    except (TypeError, ValueError, OverflowError, RecursionError):
        return call.arguments.encode(errors="surrogatepass")
