"""What is asked of a language model, and what it answers."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from synth.schemas.canonical import StrictRecord
from synth.schemas.trajectory import TokenId, ToolCall, ToolSchema, Usage

Message = dict[str, Any]
"""A chat message in OpenAI's form; `content` may be null, tool-call arguments are JSON strings."""
Messages = Sequence[Message]
ToolSchemas = Sequence[ToolSchema]


class Sampling(StrictRecord, frozen=True):
    """How replies are drawn; None leaves the server's default. `extra` goes into the request body
    as it is.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    extra: Mapping[str, Any] = msgspec.field(default_factory=dict)


class Completion(StrictRecord, frozen=True):
    """One reply; `raw` is the provider's message as received, `repairs` names what our parser had
    to mend.
    """

    content: str | None = None
    thought: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage = Usage()
    model: str | None = None
    weights_id: str | None = None
    prompt_token_ids: tuple[TokenId, ...] | None = None
    completion_token_ids: tuple[TokenId, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    latency_ms: float | None = None
    repairs: tuple[str, ...] = ()
    raw: str | None = None


class ModelError(Exception):
    """A model's server gave no usable reply; `retryable` says whether asking again may help."""

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        timeout: bool = False,
        context_overflow: bool = False,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.timeout = timeout
        self.context_overflow = context_overflow


class ChatModel(Protocol):
    """Anything that continues a chat. Raises `ModelError`."""

    @property
    def name(self) -> str: ...
    async def complete(
        self, messages: Messages, tools: ToolSchemas, sampling: Sampling
    ) -> Completion: ...
    async def close(self) -> None: ...


class TokenScore(msgspec.Struct, frozen=True):
    """One token under a student: log-probability (nats) and rank (1 = the student's first
    choice).
    """

    token_id: int
    logprob: float
    rank: int


class Scored(msgspec.Struct, frozen=True):
    """A text under a student, token by token; `not_scored` says why there are no tokens.

    `chat` is the whole text, `places` where in it the scored tokens stand, `texts` each of them
    decoded alone (a character that two
    tokens share shows as U+FFFD). An engine may leave these three empty.
    """

    tokens: tuple[TokenScore, ...]
    turn_of_token: tuple[int, ...]
    template_hash: str
    tools_rendered: bool
    not_scored: str | None = None
    weights_id: str | None = None
    chat: tuple[TokenId, ...] = ()
    places: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()


class ScoringModel(Protocol):
    """Anything that gives the probability of a given chat. Raises `ModelError`."""

    async def score(self, messages: Messages, tools: ToolSchemas) -> Scored: ...
    async def close(self) -> None: ...
