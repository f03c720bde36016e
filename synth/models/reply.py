"""Reading the body of a /chat/completions response: what was received is kept, what was mended is
named.
"""

import json
from collections.abc import Sequence

import msgspec

from synth.models.call_ids import identified, ids_in_use
from synth.models.replayed import SeenReplies
from synth.models.reply_body import (
    SentCached,
    SentCall,
    SentChoice,
    SentFunction,
    SentLogprobs,
    SentMessage,
    SentResponse,
    SentUsage,
)
from synth.models.reply_health import ChoiceFacts, why_a_fault
from synth.models.said_twice import read_once, said_twice
from synth.models.server_error import error_text, unusable
from synth.models.settings import Price
from synth.schemas.canonical import valid_text
from synth.schemas.model import Completion, Message
from synth.schemas.trajectory import TokenId, ToolCall, Usage

SURROGATES = "lone_surrogates_replaced"
REFUSAL = "refusal_as_content"
CONTENT_PARTS = "content_parts_joined"
ARGUMENTS_MISSING = "arguments_missing"
ARGUMENTS_OBJECT = "arguments_sent_as_object"
LOGPROBS_UNALIGNED = "logprobs_not_one_per_token"
LOGPROBS_ABOVE_ZERO = "logprobs_above_zero"
NO_TOKEN_IDS = "token_ids_empty"
NO_TOKENS = "usage_without_tokens"
FUNCTION_CALL = "function_call_as_tool_call"
ROUNDING = 1e-3
"""Nats by which a log-probability may lie above zero."""
_NO_ERROR = frozenset({b"null", b'""', b"{}", b"[]", b"false", b"0"})
"""What stands in the field `error` where there is none."""
_RESPONSE = msgspec.json.Decoder(SentResponse)
_MESSAGE = msgspec.json.Decoder(SentMessage)
_STRING = msgspec.json.Decoder(str)


def read_replies(
    body: bytes,
    messages: Sequence[Message],
    *,
    n: int = 1,
    price: Price | None = None,
    latency_ms: float | None = None,
    seen: SeenReplies | None = None,
) -> list[Completion]:
    """The `n` choices of a response as completions; the usage of the whole request stands at the
    first.

    Content keeps its difference between null and "", arguments are kept to the byte. Token ids are
    vLLM's (`return_token_ids`). Half a surrogate pair is legal JSON, but no UTF-8 text: it becomes
    U+FFFD, here as everywhere (then in `raw` too). Log-probabilities that are not one per token id
    belong to no token: they are left out, and the repair says so. Raises `ServerError` (retryable)
    where the body is no such response: cut off, no JSON, another number of choices, no message, a
    field that stands twice, what `reply_health` calls a fault, one that another conversation got
    (`seen`), or with counts of tokens or token ids that no model can have.
    """
    try:
        try:
            return _replies(body, messages, n, price, latency_ms, seen)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            if b"\\ud" not in body.lower():
                raise
            text = valid_text(json.dumps(read_once(body), ensure_ascii=False))
            return _replies(text.encode(), messages, n, price, latency_ms, seen, SURROGATES)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise unusable(body, str(error)) from error


def _replies(
    body: bytes,
    messages: Sequence[Message],
    n: int,
    price: Price | None,
    latency_ms: float | None,
    seen: SeenReplies | None,
    *repairs: str,
) -> list[Completion]:
    """The completions in a body. Raises `msgspec.MsgspecError`, `UnicodeDecodeError`,
    `RecursionError`, or the `ServerError` itself.
    """
    response = _RESPONSE.decode(body)
    told = _error(response.error)
    if told is not None:
        raise unusable(body, f"it tells of an error: {told}")
    choices = _in_order(response.choices or [], n, body)
    found = [
        _MESSAGE.decode(choice.message) if bytes(choice.message) != b"null" else None
        for choice in choices
    ]
    texts = n + sum(choice.logprobs is not None for choice in choices)
    twice = said_twice(body, n, texts, sum(len(message.calls()) for message in found if message))
    if twice is not None:
        raise unusable(body, twice)
    usage = _usage(response.usage, body)
    if price is not None and usage.prompt_tokens:
        usage = msgspec.structs.replace(usage, cost_usd=price.cost_usd(usage))
    usages = [usage, *[Usage()] * (n - 1)]
    completions = []
    for choice, message, used in zip(choices, found, usages, strict=True):
        if message is None:
            raise unusable(body, "its message is null")
        why = why_a_fault(_said(choice, message, response.usage))
        if why is not None:
            raise unusable(body, why)
        completions.append(
            _completion(response, choice, message, messages, used, latency_ms, repairs)
        )
    if seen is not None and seen.replayed(response.id, body, messages):
        raise unusable(body, "it is the reply that another conversation got")
    return completions


def _in_order(choices: list[SentChoice], n: int, body: bytes) -> list[SentChoice]:
    """The choices by their index. Raises `ServerError` where they are not `n`, or are not told
    apart by it.
    """
    if not choices:
        raise unusable(body, "it has no choices")
    if len(choices) != n:
        raise unusable(body, f"it has {len(choices)} choices, not {n}")
    places = [choice.index for choice in choices]
    if n == 1 or not any(place is not None for place in places):
        return choices
    by_place = {choice.index: choice for choice in choices}
    if by_place.keys() != set(range(n)):
        raise unusable(body, f"its {n} choices are numbered {places}")
    return [by_place[place] for place in range(n)]


def _said(choice: SentChoice, message: SentMessage, usage: SentUsage | None) -> ChoiceFacts:
    """What a choice says of itself, for the table."""
    functions = [call.function for call in message.calls()]
    tokens = usage.completion_tokens if usage is not None else None
    return ChoiceFacts(
        choice.finish_reason,
        _error(choice.error) or _error(message.error),
        message.role,
        words=bool(
            message.content or message.refusal or message.reasoning_content or message.reasoning
        ),
        calls=len(functions),
        unnamed=any(function is None or function.name is None for function in functions),
        tokens=max(tokens or 0, len(choice.token_ids or ()))
        if tokens is not None or choice.token_ids
        else None,
    )


def _error(told: msgspec.Raw) -> str | None:
    """What a field `error` tells, in one line, or None where it tells of none."""
    raw = bytes(told).strip()
    return None if raw in _NO_ERROR else error_text(b'{"error": %s}' % raw)[0] or "unnamed"


def _completion(
    response: SentResponse,
    choice: SentChoice,
    message: SentMessage,
    messages: Sequence[Message],
    usage: Usage,
    latency_ms: float | None,
    repairs_so_far: Sequence[str],
) -> Completion:
    repairs = list(repairs_so_far)
    sent = message.tool_calls or message.calls()
    if sent and not message.tool_calls:
        repairs.append(FUNCTION_CALL)
    calls = tuple(_call(call, repairs) for call in sent)
    if calls:
        calls, mended = identified(calls, *ids_in_use(messages))
        repairs.extend(mended)
    content = _content(message, repairs)
    if response.usage is not None and response.usage.completion_tokens == 0 and (content or calls):
        repairs.append(NO_TOKENS)
    token_ids = _known_ids(choice.token_ids, bool(content or calls), repairs)
    return Completion(
        content=content,
        thought=message.reasoning_content
        if message.reasoning_content is not None
        else message.reasoning,
        tool_calls=calls,
        finish_reason=choice.finish_reason,
        usage=usage,
        model=response.model,
        weights_id=response.system_fingerprint,
        prompt_token_ids=_known_ids(response.prompt_token_ids, bool(messages), repairs),
        completion_token_ids=token_ids,
        logprobs=_logprobs(choice.logprobs, token_ids, bool(content or calls), repairs),
        latency_ms=latency_ms,
        repairs=tuple(dict.fromkeys(repairs)),
        raw=bytes(choice.message).decode(),
    )


def _known_ids(
    ids: tuple[TokenId, ...] | None, written: bool, repairs: list[str]
) -> tuple[TokenId, ...] | None:
    """Token ids; none at all for what was written are not told, rather than none."""
    if ids == () and written:
        repairs.append(NO_TOKEN_IDS)
        return None
    return ids


def _logprobs(
    sent: SentLogprobs | None,
    token_ids: tuple[TokenId, ...] | None,
    written: bool,
    repairs: list[str],
) -> tuple[float, ...] | None:
    """One per token id, none of them a probability above one."""
    if sent is None or sent.content is None:
        return None
    if (
        len(sent.content) != len(token_ids)
        if token_ids is not None
        else written and not sent.content
    ):
        repairs.append(LOGPROBS_UNALIGNED)
        return None
    if any(token.logprob > ROUNDING for token in sent.content):
        repairs.append(LOGPROBS_ABOVE_ZERO)
        return None
    return tuple(token.logprob for token in sent.content)


def _content(message: SentMessage, repairs: list[str]) -> str | None:
    content = message.content
    if isinstance(content, list):
        repairs.append(CONTENT_PARTS)
        return "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    if content is None and message.refusal:
        repairs.append(REFUSAL)
        return message.refusal
    return content


def _call(call: SentCall, repairs: list[str]) -> ToolCall:
    """One call; its arguments are a JSON string on the wire, but some servers send the object
    itself, or nothing.
    """
    function = call.function or SentFunction()
    raw = bytes(function.arguments)
    if raw.startswith(b'"'):
        arguments = _STRING.decode(raw)
    elif raw == b"null":
        arguments = "{}"
        repairs.append(ARGUMENTS_MISSING)
    else:
        arguments = raw.decode()
        repairs.append(ARGUMENTS_OBJECT)
    return ToolCall.received(call.id or "", function.name or "", arguments)


def _usage(sent: SentUsage | None, body: bytes) -> Usage:
    """One call's tokens, as far as the server tells them. Raises `ServerError` where more of the
    prompt was cached than it has.
    """
    if sent is None:
        return Usage(calls=1)
    details = sent.prompt_tokens_details or SentCached()
    if sent.prompt_tokens is not None and (details.cached_tokens or 0) > sent.prompt_tokens:
        raise unusable(
            body, f"{details.cached_tokens} of its {sent.prompt_tokens} prompt tokens were cached"
        )
    return Usage(
        sent.prompt_tokens or 0, sent.completion_tokens or 0, details.cached_tokens or 0, calls=1
    )
