"""Searches that stand beside an answer and not in it: Gemini's grounding, citations of a Chat
Completion. The model was shown pages that no log holds.
"""

from typing import Any

from synth.importers.conversation import ConversationBuilder, tool_call
from synth.importers.hosted.shown import note_of, shown
from synth.importers.records import Object, inside
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
    grounding, context = _first(holder, _GROUNDING), _first(holder, _CONTEXT)
    queries, chunks = _first(grounding, _QUERIES), _first(grounding, _CHUNKS)
    if queries or chunks:
        _add(chat, "google_search", {"queries": queries or []}, chunks, "grounding")
    pages = _first(context, _PAGES)
    if pages:
        _add(chat, "url_context", {}, pages, "url_context")

    return [message | {BESIDE: True} for message in chat.messages]


def _add(chat: ConversationBuilder, name: str, asked: Object, told: Any, kind: str) -> None:
    chat.answer(calls=[tool_call(None, name, asked)], mask=PROVIDER_MASK)
    chat.result("\n".join([*([shown(told)] if told else ()), note_of(kind)]), name=name)


def _first(holder: Any, keys: tuple[str, ...]) -> Any:
    return next((found for key in keys if (found := inside(holder, key))), None)


def cited(message: Object) -> Any:
    """What an answer in a Chat Completion cites of pages that its log does not hold."""
    notes = message.get("annotations")
    if not isinstance(notes, list):
        return None
    return [one for one in notes if str(inside(one, "type")).endswith("_citation")] or None
