"""The body of a /chat/completions response as servers send it: the fields that are read, each of
the only type that it may have.
"""

from typing import Annotated, Any

import msgspec

from synth.models.server_error import error_text
from synth.schemas import TokenId, ToolCall

NULL = b"null"
NO_ERROR = frozenset({b"null", b'""', b"{}", b"[]", b"false", b"0"})
"""What stands in a field `error` where there is none."""
_Tokens = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
"""Of one call: no context is longer, and a sum over any run stays within 64 bits."""
_STRING = msgspec.json.Decoder(str)


class SentCached(msgspec.Struct):
    """How many tokens of the prompt came from a cache."""

    cached_tokens: _Tokens | None = None


class SentUsage(msgspec.Struct):
    """Tokens of the whole request."""

    prompt_tokens: _Tokens | None = None
    completion_tokens: _Tokens | None = None
    prompt_tokens_details: SentCached | None = None


class SentFunction(msgspec.Struct):
    """The name and the arguments of a call."""

    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw(NULL)


class SentCall(msgspec.Struct):
    """A call of a tool."""

    id: str | None = None
    function: SentFunction | None = None

    @property
    def arguments(self) -> bytes:
        """As they came."""
        return bytes(self.function.arguments) if self.function is not None else NULL

    def received(self) -> ToolCall:
        """The call; its arguments are a JSON string on the wire, but some servers send the object
        itself, or nothing.
        """
        sent, name = self.arguments, self.function and self.function.name
        written = "{}" if sent == NULL else sent.decode()
        if sent.startswith(b'"'):
            written = _STRING.decode(sent)
        return ToolCall.received(self.id or "", name or "", written)


class SentMessage(msgspec.Struct):
    """What was written."""

    role: str | None = None
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[SentCall] | None = None
    function_call: SentFunction | None = None
    error: msgspec.Raw = msgspec.Raw(NULL)

    @property
    def thought(self) -> str | None:
        """The thinking, under either of its names."""
        return self.reasoning if self.reasoning_content is None else self.reasoning_content

    def calls(self) -> list[SentCall]:
        """All calls, the legacy `function_call` last."""
        legacy = [SentCall(function=self.function_call)] if self.function_call else []
        return [*(self.tool_calls or ()), *legacy]

    def text(self) -> str | None:
        """The content, its parts put together; a refusal where there is none."""
        if isinstance(self.content, list):
            texts = (part.get("text") for part in self.content)
            return "".join(text for text in texts if isinstance(text, str))
        return (self.refusal or None) if self.content is None else self.content


class SentLogprob(msgspec.Struct):
    """Of one token."""

    logprob: float


class SentLogprobs(msgspec.Struct):
    """Of the tokens in their order."""

    content: list[SentLogprob] | None = None


class SentChoice(msgspec.Struct):
    """One of the replies."""

    index: int | None = None
    message: msgspec.Raw = msgspec.Raw(NULL)
    error: msgspec.Raw = msgspec.Raw(NULL)
    finish_reason: str | None = None
    logprobs: SentLogprobs | None = None
    token_ids: tuple[TokenId, ...] | None = None


class SentResponse(msgspec.Struct):
    """The whole body."""

    id: Any = None
    choices: list[SentChoice] | None = None
    error: msgspec.Raw = msgspec.Raw(NULL)
    model: str | None = None
    usage: SentUsage | None = None
    system_fingerprint: str | None = None
    prompt_token_ids: tuple[TokenId, ...] | None = None


def error_told(field: msgspec.Raw) -> str | None:
    """What a field `error` tells, in one line, or None where it tells of none."""
    raw = bytes(field).strip()
    return None if raw in NO_ERROR else error_text(b'{"error": %s}' % raw)[0] or "unnamed"
