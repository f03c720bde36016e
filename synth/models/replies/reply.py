"""Reading the body of a /chat/completions response: what was received is kept, what was mended is
named.
"""

import json
from collections.abc import Sequence

import msgspec

from synth.models.replies.call_ids import identified
from synth.models.replies.replayed import SeenReplies
from synth.models.replies.reply_body import (
    NULL,
    SentChoice,
    SentMessage,
    SentResponse,
    SentUsage,
    error_told,
)
from synth.models.replies.said_twice import check_said_once, read_once
from synth.models.reply_health import why_a_fault
from synth.models.server_error import unusable
from synth.models.settings import Price
from synth.schemas import Completion, Messages, Usage, valid_text

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
_RESPONSE = msgspec.json.Decoder(SentResponse)
_MESSAGE = msgspec.json.Decoder(SentMessage)


def read_replies(
    body: bytes,
    messages: Messages,
    *,
    n: int = 1,
    price: Price | None = None,
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
            response, replies = _read(body, messages, n, price, ())
        except (msgspec.MsgspecError, UnicodeDecodeError):
            if b"\\ud" not in body.lower():
                raise
            body = valid_text(json.dumps(read_once(body), ensure_ascii=False)).encode()
            response, replies = _read(body, messages, n, price, (SURROGATES,))

        if seen is not None and seen.replayed(response.id, body, messages):
            raise ValueError("it is the reply that another conversation got")
        return replies
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise unusable(body, str(error)) from error


def _read(
    body: bytes, messages: Messages, n: int, price: Price | None, repairs: Sequence[str]
) -> tuple[SentResponse, list[Completion]]:
    """The response, and its choices in order. Raises `ValueError` or what a decoder raises."""
    response = _RESPONSE.decode(body)

    told = error_told(response.error)
    if told is not None:
        raise ValueError(f"it tells of an error: {told}")

    choices = _in_order(response.choices or [], n)
    if any(bytes(choice.message) == NULL for choice in choices):
        raise ValueError("its message is null")

    found = [_MESSAGE.decode(choice.message) for choice in choices]
    texts = n + sum(choice.logprobs is not None for choice in choices)
    check_said_once(body, n, texts, sum(len(message.calls()) for message in found))

    usage, replies = _usage(response.usage, price), list[Completion]()
    tokens = response.usage.completion_tokens if response.usage is not None else None
    for choice, message in zip(choices, found, strict=True):
        why = why_a_fault(choice, message, tokens)
        if why is not None:
            raise ValueError(why)
        used = Usage() if replies else usage
        replies.append(_completion(response, choice, message, messages, used, repairs))
    return response, replies


def _in_order(choices: list[SentChoice], n: int) -> list[SentChoice]:
    """The choices by their index. Raises `ValueError` where they are not `n`, or are not told apart
    by it.
    """
    if not choices:
        raise ValueError("it has no choices")

    if len(choices) != n:
        raise ValueError(f"it has {len(choices)} choices, not {n}")

    by_place = {choice.index: choice for choice in choices}
    if n == 1 or by_place.keys() == {None}:
        return choices

    if by_place.keys() != set(range(n)):
        raise ValueError(f"its {n} choices are numbered {[choice.index for choice in choices]}")
    return [by_place[place] for place in range(n)]


def _usage(sent: SentUsage | None, price: Price | None) -> Usage:
    """One call's tokens, as far as the server tells them, and their price. Raises `ValueError`
    where more of the prompt was cached than it has.
    """
    if sent is None:
        return Usage(calls=1)

    prompt_tokens, details = sent.prompt_tokens, sent.prompt_tokens_details
    cached = (details.cached_tokens if details is not None else None) or 0
    if prompt_tokens is not None and cached > prompt_tokens:
        raise ValueError(f"{cached} of its {prompt_tokens} prompt tokens were cached")

    usage = Usage(prompt_tokens or 0, sent.completion_tokens or 0, cached, calls=1)
    return usage if price is None or not prompt_tokens else price.priced(usage)


def _completion(
    response: SentResponse,
    choice: SentChoice,
    message: SentMessage,
    messages: Messages,
    usage: Usage,
    repairs: Sequence[str],
) -> Completion:
    """One choice as a completion, but for its latency."""
    content, sent = message.text(), message.tool_calls or message.calls()
    calls, ids_mended = identified((call.received() for call in sent), messages)

    written, prompt_ids, counted = bool(content or calls), response.prompt_token_ids, response.usage
    token_ids = None if written and choice.token_ids == () else choice.token_ids
    logprobs, unfit = _logprobs(choice, token_ids, written)

    raws = [call.arguments for call in sent]

    mended = {
        FUNCTION_CALL: bool(sent) and not message.tool_calls,
        ARGUMENTS_MISSING: NULL in raws,
        ARGUMENTS_OBJECT: any(raw != NULL and not raw.startswith(b'"') for raw in raws),
        **dict.fromkeys(ids_mended, True),
        CONTENT_PARTS: isinstance(message.content, list),
        REFUSAL: message.content is None and content is not None,
        NO_TOKENS: written and counted is not None and counted.completion_tokens == 0,
        NO_TOKEN_IDS: token_ids != choice.token_ids or (prompt_ids == () and bool(messages)),
        **dict.fromkeys(unfit, True),
    }

    return Completion(
        content=content,
        thought=message.thought,
        tool_calls=calls,
        finish_reason=choice.finish_reason,
        usage=usage,
        model=response.model,
        weights_id=response.system_fingerprint,
        prompt_token_ids=(prompt_ids or None) if messages else prompt_ids,
        completion_token_ids=token_ids,
        logprobs=logprobs,
        repairs=(*repairs, *(repair for repair, holds in mended.items() if holds)),
        raw=bytes(choice.message).decode(),
    )


def _logprobs(
    choice: SentChoice, token_ids: Sequence[int] | None, written: bool
) -> tuple[tuple[float, ...] | None, list[str]]:
    """One per token id, none of them a probability above one; else none, and the repair's name."""
    if choice.logprobs is None or choice.logprobs.content is None:
        return None, []

    found = tuple(token.logprob for token in choice.logprobs.content)
    if written and not found if token_ids is None else len(found) != len(token_ids):
        return None, [LOGPROBS_UNALIGNED]

    if any(logprob > ROUNDING for logprob in found):
        return None, [LOGPROBS_ABOVE_ZERO]
    return found, []
