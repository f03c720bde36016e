"""The body of a /chat/completions response as servers send it: the fields that are read, each of
the only type that it may have.
"""

from typing import Annotated, Any

import msgspec

from synth.schemas.trajectory import TokenId

NULL = msgspec.Raw(b"null")
_Tokens = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
"""Of one call: no context is longer, and a sum over any run stays within 64 bits."""


class SentCached(msgspec.Struct):
    """What of the prompt came from a cache."""

    cached_tokens: _Tokens | None = None


class SentUsage(msgspec.Struct):
    """Tokens of the whole request."""

    prompt_tokens: _Tokens | None = None
    completion_tokens: _Tokens | None = None
    prompt_tokens_details: SentCached | None = None


class SentFunction(msgspec.Struct):
    """The name and the arguments of a call."""

    name: str | None = None
    arguments: msgspec.Raw = NULL


class SentCall(msgspec.Struct):
    """A call of a tool."""

    id: str | None = None
    function: SentFunction | None = None


class SentMessage(msgspec.Struct):
    """What was written."""

    role: str | None = None
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[SentCall] | None = None
    function_call: SentFunction | None = None
    error: msgspec.Raw = NULL

    def calls(self) -> list[SentCall]:
        """All calls, the legacy `function_call` last."""
        legacy = self.function_call
        return [*(self.tool_calls or ()), *([SentCall(function=legacy)] if legacy else ())]


class SentLogprob(msgspec.Struct):
    """Of one token."""

    logprob: float


class SentLogprobs(msgspec.Struct):
    """Of the tokens in their order."""

    content: list[SentLogprob] | None = None


class SentChoice(msgspec.Struct):
    """One of the replies."""

    index: int | None = None
    message: msgspec.Raw = NULL
    error: msgspec.Raw = NULL
    finish_reason: str | None = None
    logprobs: SentLogprobs | None = None
    token_ids: tuple[TokenId, ...] | None = None


class SentResponse(msgspec.Struct):
    """The whole body."""

    id: Any = None
    choices: list[SentChoice] | None = None
    error: msgspec.Raw = NULL
    model: str | None = None
    usage: SentUsage | None = None
    system_fingerprint: str | None = None
    prompt_token_ids: tuple[TokenId, ...] | None = None
