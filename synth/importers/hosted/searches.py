"""Searches that stand beside an answer and not in it: Gemini's grounding, citations of a Chat
Completion. The model was shown pages that no log holds.
"""

from typing import Any

from synth.importers.conversation import UNREAD_MASK, ConversationBuilder, note_of, tool_call
from synth.importers.hosted.shown import shown
from synth.importers.records import Object, first_inside, inside
from synth.schemas import PROVIDER_MASK

BESIDE = "stands beside the answer"
"""Key of a message in a builder's form that later requests do not repeat."""
_GROUNDING = ("groundingMetadata", "grounding_metadata")
_CONTEXT = ("urlContextMetadata", "url_context_metadata")
_QUERIES = ("webSearchQueries", "web_search_queries", "retrievalQueries", "retrieval_queries")
_CHUNKS = ("groundingChunks", "grounding_chunks")
_PAGES = ("urlMetadata", "url_metadata")


def searched(holder: Any) -> list[Object]:
    """The searches that a candidate of Gemini says it rests on, as a call with its result; none
    where it rests on none.
    """
    chat = ConversationBuilder()
    grounding = first_inside(holder, _GROUNDING)
    queries, chunks = first_inside(grounding, _QUERIES), first_inside(grounding, _CHUNKS)
    if queries or chunks:
        _add(chat, "google_search", {"queries": queries or []}, chunks, "grounding")
    pages = first_inside(first_inside(holder, _CONTEXT), _PAGES)
    if pages:
        _add(chat, "url_context", {}, pages, "url_context")

    return [message | {BESIDE: True} for message in chat.messages]


def _add(chat: ConversationBuilder, name: str, asked: Object, told: Any, kind: str) -> None:
    chat.answer(calls=[tool_call(None, name, asked)], mask=PROVIDER_MASK)
    chat.result("\n".join([*([shown(told)] if told else ()), note_of(kind)]), name=name)


def executed(message: Any) -> list[Object]:
    """The tools that a system of the provider ran before its answer (Groq's compound), as calls
    with results.
    """
    chat = ConversationBuilder()
    for one in inside(message, "executed_tools", list) or ():
        name = inside(one, "name", str) or inside(one, "type", str)
        if name is None:
            continue
        call = tool_call(None, name, one.get("arguments"))
        chat.answer(calls=[call], mask=PROVIDER_MASK, raw=[one])
        chat.result(shown(one.get("output")), name=name)
    return [one | {BESIDE: True} for one in chat.messages]


def resting_on(messages: list[Object], response: Object) -> list[Object]:
    """An answer beside which the response names pages that it rests on (Perplexity, xAI): none of
    them is in the log, and it carries no loss.
    """
    keys = ("search_results", "citations")
    held = [{"type": key, key: response[key]} for key in keys if response.get(key)]
    for message in messages if held else ():
        note = message["note"]
        if message["role"] == "assistant" and not note.get("mask"):
            before = note.get("raw") or []
            note["raw"] = [*(before if isinstance(before, list) else [before]), *held]
            note["mask"] = UNREAD_MASK
    return messages


def cited(message: Object) -> Any:
    """What an answer in a Chat Completion cites of pages that its log does not hold."""
    notes = message.get("annotations")
    if not isinstance(notes, list):
        return None
    return [one for one in notes if str(inside(one, "type")).endswith("_citation")] or None
