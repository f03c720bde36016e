"""Reading the body of a /chat/completions response: what was received is kept, what was mended is named."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from schemas.canonical import valid_text
from schemas.model import Completion, Message
from schemas.trajectory import TokenId, ToolCall, Usage
from synth.models.call_ids import identified, ids_in_use
from synth.models.server_error import ServerError
from synth.models.settings import Price

SURROGATES = "lone_surrogates_replaced"
REFUSAL = "refusal_as_content"
CONTENT_PARTS = "content_parts_joined"
ARGUMENTS_MISSING = "arguments_missing"
ARGUMENTS_OBJECT = "arguments_sent_as_object"
LOGPROBS_UNALIGNED = "logprobs_not_one_per_token"
_NULL = msgspec.Raw(b"null")
_Tokens = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
"""Of one call: no context is longer, and a sum over any run stays within 64 bits."""


class _CachedTokens(msgspec.Struct):
    cached_tokens: _Tokens | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: _Tokens | None = None
    completion_tokens: _Tokens | None = None
    prompt_tokens_details: _CachedTokens | None = None


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: msgspec.Raw = _NULL


class _Call(msgspec.Struct):
    id: str | None = None
    function: _Function | None = None


class _Message(msgspec.Struct):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_Call] | None = None


class _TokenLogprob(msgspec.Struct):
    logprob: float


class _Logprobs(msgspec.Struct):
    content: list[_TokenLogprob] | None = None


class _Choice(msgspec.Struct):
    message: msgspec.Raw = _NULL
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    token_ids: tuple[TokenId, ...] | None = None


class _Response(msgspec.Struct):
    choices: list[_Choice] | None = None
    model: str | None = None
    usage: _Usage | None = None
    system_fingerprint: str | None = None
    prompt_token_ids: tuple[TokenId, ...] | None = None


_RESPONSE = msgspec.json.Decoder(_Response)
_MESSAGE = msgspec.json.Decoder(_Message)
_STRING = msgspec.json.Decoder(str)


def read_replies(
    body: bytes, messages: Sequence[Message], *, n: int = 1, price: Price | None = None, latency_ms: float | None = None
) -> list[Completion]:
    """The first `n` choices of a response as completions; the usage of the whole request stands at the first.

    Content keeps its difference between null and "", arguments are kept to the byte. Token ids are vLLM's (`return_token_ids`).
    Half a surrogate pair is legal JSON, but no UTF-8 text: it becomes U+FFFD, here as everywhere (then in `raw` too).
    Log-probabilities that are not one per token id belong to no token: they are left out, and the repair says so.
    Raises `ServerError` (retryable) where the body is no such response: cut off, no JSON, too few choices, no message, or with counts
    of tokens or token ids that no model can have (negative, fractions, beyond 2^31).
    """
    try:
        try:
            return _completions(body, messages, n, price, latency_ms)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            if b"\\ud" not in body.lower():
                raise
            text = valid_text(json.dumps(json.loads(body), ensure_ascii=False))
            return _completions(text.encode(), messages, n, price, latency_ms, SURROGATES)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _unusable(body, str(error)) from error


def _completions(
    body: bytes, messages: Sequence[Message], n: int, price: Price | None, latency_ms: float | None, *repairs: str
) -> list[Completion]:
    """The completions in a body. Raises `msgspec.MsgspecError`, `UnicodeDecodeError`, `RecursionError`, or the `ServerError` itself."""
    response = _RESPONSE.decode(body)
    if not response.choices:
        raise _unusable(body, "it has no choices")
    if len(response.choices) < n:
        raise _unusable(body, f"it has {len(response.choices)} choices, not {n}")
    usage = _usage(response.usage)
    if price is not None and usage.prompt_tokens:
        usage = msgspec.structs.replace(usage, cost_usd=price.cost_usd(usage))
    usages = [usage, *[Usage()] * (n - 1)]
    return [_completion(body, response, i, messages, usages[i], latency_ms, repairs) for i in range(n)]


def _completion(
    body: bytes,
    response: _Response,
    index: int,
    messages: Sequence[Message],
    usage: Usage,
    latency_ms: float | None,
    repairs_so_far: Sequence[str],
) -> Completion:
    choice = response.choices[index] if response.choices else _Choice()
    raw = bytes(choice.message)
    if raw == b"null":
        raise _unusable(body, "its message is null")
    message = _MESSAGE.decode(raw)
    repairs = list(repairs_so_far)
    calls = tuple(_call(call, repairs) for call in message.tool_calls or ())
    if calls:
        calls, mended = identified(calls, *ids_in_use(messages))
        repairs.extend(mended)
    logprobs = choice.logprobs.content if choice.logprobs is not None else None
    if logprobs is not None and choice.token_ids is not None and len(logprobs) != len(choice.token_ids):
        logprobs = None
        repairs.append(LOGPROBS_UNALIGNED)
    return Completion(
        content=_content(message, repairs),
        thought=message.reasoning_content if message.reasoning_content is not None else message.reasoning,
        tool_calls=calls,
        finish_reason=choice.finish_reason,
        usage=usage,
        model=response.model,
        weights_id=response.system_fingerprint,
        prompt_token_ids=response.prompt_token_ids,
        completion_token_ids=choice.token_ids,
        logprobs=None if logprobs is None else tuple(token.logprob for token in logprobs),
        latency_ms=latency_ms,
        repairs=tuple(dict.fromkeys(repairs)),
        raw=raw.decode(),
    )


def _unusable(body: bytes, why: str) -> ServerError:
    start = body[:80].decode("utf-8", "replace")
    return ServerError(f"the server's reply is unusable: {why}; {len(body)} bytes that begin with {start!r}", retryable=True)


def _content(message: _Message, repairs: list[str]) -> str | None:
    content = message.content
    if isinstance(content, list):
        repairs.append(CONTENT_PARTS)
        return "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    if content is None and message.refusal:
        repairs.append(REFUSAL)
        return message.refusal
    return content


def _call(call: _Call, repairs: list[str]) -> ToolCall:
    """One call; its arguments are a JSON string on the wire, but some servers send the object itself, or nothing."""
    function = call.function or _Function()
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


def _usage(sent: _Usage | None) -> Usage:
    """One call's tokens, as far as the server tells them."""
    if sent is None:
        return Usage(calls=1)
    details = sent.prompt_tokens_details or _CachedTokens()
    return Usage(sent.prompt_tokens or 0, sent.completion_tokens or 0, details.cached_tokens or 0, calls=1)


def error_text(body: bytes) -> tuple[str, str]:
    """(message, code) of an error response in OpenAI's form, vLLM's or none at all; the message in one line, at most 300 characters."""
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        answer = body.decode("utf-8", "replace")
    error = answer.get("error", answer) if isinstance(answer, Mapping) else answer
    message, code = error, ""
    if isinstance(error, Mapping):
        message, code = error.get("message") or error.get("detail") or dict(error), str(error.get("code") or "")
    return " ".join(str(message).split())[:300], code
