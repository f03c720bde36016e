"""Answers that were logged as they streamed in, put together: Chat Completions, Anthropic, the
Responses API and Gemini; as lists of chunks, or as the text of server-sent events.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from synth.importers.records import Object, is_object

Chunks = Sequence[Object]
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}
_LAST = ("response.completed", "response.incomplete", "response.failed")


def assembled(value: Any) -> Any:
    """The response that chunks add up to; any other value as it is. Raises `ValueError` for a
    stream without its end.
    """
    chunks = _events(value) if isinstance(value, str) else value
    if not isinstance(chunks, list) or not chunks or not all(map(is_object, chunks)):
        return value
    read = next((read for is_one, read in _APIS if is_one(chunks)), None)
    return value if read is None else read(chunks)


def _events(text: str) -> list[Any] | None:
    """What server-sent events hold; None for a text that is none."""
    lines = [line.strip() for line in text.splitlines()]
    if not lines or not lines[0].startswith(("data:", "event:", ":")):
        return None
    data = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    try:
        return [json.loads(one) for one in data if one and one != "[DONE]"]
    except (ValueError, RecursionError):
        return None


def _is_chat(chunks: Chunks) -> bool:
    return any(isinstance(one.get("delta"), dict) for one in _choices(chunks))


def _choices(chunks: Chunks) -> Iterator[Object]:
    for chunk in chunks:
        choices = chunk.get("choices")
        yield from (one for one in choices or () if isinstance(one, dict))


def _chat(chunks: Chunks) -> Object:
    """Each choice as one message: texts end to end, calls by their index."""
    messages: dict[int, Object] = {}
    ends: dict[int, Any] = {}
    for choice in _choices(chunks):
        at = choice.get("index") or 0
        message = messages.setdefault(at, {"role": "assistant", "content": None, "calls": {}})
        _add(message, choice.get("delta") or {})
        ends[at] = choice.get("finish_reason") or ends.get(at)

    choices = []
    for at, message in sorted(messages.items()):
        calls = message.pop("calls")
        message |= {"tool_calls": [calls[index] for index in sorted(calls)]} if calls else {}
        choices.append({"index": at, "message": message, "finish_reason": ends[at]})
    return _last_of(chunks, "id", "model", "usage") | {"choices": choices}


def _add(message: Object, delta: Object) -> None:
    for key in _TEXTS:
        if isinstance(delta.get(key), str):
            message[key] = (message.get(key) or "") + delta[key]
    for place, part in enumerate(delta.get("tool_calls") or ()):
        empty = {"type": "function", "function": {"name": "", "arguments": ""}}
        call = message["calls"].setdefault(part.get("index", place), {"id": None, **empty})
        call["id"] = part.get("id") or call["id"]
        for key, text in (part.get("function") or {}).items():
            if isinstance(text, str) and key in call["function"]:
                call["function"][key] += text


def _is_anthropic(chunks: Chunks) -> bool:
    return any(is_object(one, "message", type=str) for one in chunks[:3]) and any(
        str(one.get("type")).startswith("content_block") for one in chunks
    )


def _anthropic(chunks: Chunks) -> Object:
    """The blocks in their order; the arguments of a call are JSON in pieces."""
    begun: Iterator[Object] = (
        one["message"] for one in chunks if is_object(one.get("message"), "role")
    )
    message = next(begun, None)
    if message is None:
        raise ValueError("a stream of Anthropic's API without its beginning")
    blocks: dict[int, Object] = {}
    for one in chunks:
        at, delta = one.get("index", 0), one.get("delta") or {}
        if one.get("type") == "content_block_start":
            blocks[at] = {"pieces": "", **one["content_block"]}
        elif one.get("type") == "content_block_delta" and at in blocks:
            _grow(blocks[at], delta)
        elif one.get("type") == "message_delta":
            usage = (message.get("usage") or {}) | (one.get("usage") or {})
            message = message | delta | {"usage": usage}

    return message | {"content": [_ended(blocks[at]) for at in sorted(blocks)]}


def _grow(block: Object, delta: Object) -> None:
    block["pieces"] += delta.get("partial_json") or ""
    key = _DELTAS.get(delta.get("type", ""))
    if key is not None:
        block[key] = (block.get(key) or "") + (delta.get(key) or "")


def _ended(block: Object) -> Object:
    pieces = block.pop("pieces")
    return block | {"input": json.loads(pieces)} if pieces else block


def _is_responses(chunks: Chunks) -> bool:
    return all(str(one.get("type")).startswith("response.") for one in chunks)


def _responses(chunks: Chunks) -> Object:
    """The API repeats the whole response in the event that ends it."""
    for one in reversed(chunks):
        if one.get("type") in _LAST and isinstance(one.get("response"), dict):
            found: Object = one["response"]
            return found
    raise ValueError("a stream of the Responses API without the event that ends it")


def _is_gemini(chunks: Chunks) -> bool:
    return all(isinstance(one.get("candidates"), list) for one in chunks)


def _gemini(chunks: Chunks) -> Object:
    """The parts of the first candidate, one after the other."""
    first = [one["candidates"][0] for one in chunks if one["candidates"]]
    parts = [part for one in first for part in (one.get("content") or {}).get("parts") or ()]
    whole = {"content": {"role": "model", "parts": parts}}
    ended = {"finishReason": first[-1].get("finishReason")} if first else {}
    return _last_of(chunks, "modelVersion", "usageMetadata") | {"candidates": [whole | ended]}


def _last_of(chunks: Chunks, *keys: str) -> Object:
    return {key: one[key] for one in chunks for key in keys if one.get(key) is not None}


_APIS: tuple[tuple[Callable[[Chunks], bool], Callable[[Chunks], Object]], ...] = (
    (_is_chat, _chat),
    (_is_anthropic, _anthropic),
    (_is_responses, _responses),
    (_is_gemini, _gemini),
)
