"""What a chat server can do, one question each; a finding is one line."""

import asyncio
import json
import statistics
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

from synth.models.probing.endpoint import BOUNDS, Endpoint, ProbeReply, readable
from synth.models.registry import open_scoring
from synth.models.server_error import ServerError
from synth.models.tool_call_recovery import with_recovered_calls
from synth.schemas.errors import ConfigError
from synth.schemas.model import Message, ModelError
from synth.schemas.trajectory import ToolSchema

Word = Literal["works", "no", "unknown"]
LATENCY_CALLS = 3
PREFIX_WORDS = 1500
"""Of the prompt that is sent twice: OpenAI caches from 1,024 tokens on, vLLM whole blocks of 16."""
LEAST_CONTEXT = 8192
"""Below it a quarter of the prompt must do."""

_CHAT: list[Message] = [{"role": "user", "content": "Greet me in one short sentence."}]
_WEATHER: ToolSchema = {
    "type": "function",
    "function": {
        "name": "look_up_weather",
        "description": "The weather in a city.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Oslo", "Lima"]}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
_ASKS: list[Message] = [
    {"role": "user", "content": "What is the weather like in Lima? Look it up."}
]
_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether something works, and the rest of the line."""

    word: Word
    said: str


@dataclass(slots=True)
class ProbeFound:
    """What later probes and the flow's settings build on."""

    plain: ProbeReply | None = None
    context: int | None = None
    works: set[str] = field(default_factory=set)


Probe = Callable[[Endpoint, ProbeFound], Awaitable[Finding]]


async def plain_chat(endpoint: Endpoint, found: ProbeFound) -> Finding:
    """A chat without anything; a server that refuses `max_tokens` is asked with its newer name."""
    try:
        found.plain = await endpoint.chat(_CHAT)
    except ServerError as error:
        if error.status != 400 or BOUNDS[0] not in str(error):
            raise
        endpoint.bound = BOUNDS[1]
        found.plain = await endpoint.chat(_CHAT)
    reply = found.plain.completion
    counted = (
        f"{reply.usage.completion_tokens} tokens" if reply.usage.completion_tokens else "a reply"
    )
    ended = f", ended by {readable(reply.finish_reason)}" if reply.finish_reason else ""
    return Finding("works", f"{counted} in {found.plain.took_s:.2f} s{ended}")


async def usage(endpoint: Endpoint, found: ProbeFound) -> Finding:
    """Whether replies say how many tokens they took."""
    told = _plain(found).completion.usage
    if told.prompt_tokens and told.completion_tokens:
        return Finding(
            "works",
            f"{told.prompt_tokens} prompt and {told.completion_tokens} completion tokens are told",
        )
    return Finding(
        "no",
        "replies do not say how many tokens they took: neither ceilings nor cost.json can count "
        "them",
    )


async def offered_tool(endpoint: Endpoint, found: ProbeFound) -> Finding:
    """A tool offered as rollouts offer theirs: the model may call it or not."""
    with_tool = await endpoint.chat(_ASKS, longest=256, tools=(_WEATHER,))
    without = await endpoint.chat(_ASKS, longest=1)
    longer = with_tool.completion.usage.prompt_tokens - without.completion.usage.prompt_tokens
    if (
        with_tool.completion.usage.prompt_tokens
        and longer <= 0
        and not with_tool.completion.tool_calls
    ):
        return Finding(
            "no",
            "accepted, but the prompt is no longer with it: the chat template does not show tools "
            "to the model",
        )
    shown = f"; it takes {longer} prompt tokens" if longer > 0 else ""
    reply = with_recovered_calls(with_tool.completion, _ASKS, (_WEATHER,))
    if with_tool.completion.tool_calls:
        return Finding("works", f"the model called it{shown}")
    if reply.tool_calls:
        return Finding(
            "works",
            "the call came as text, which synth reads; vLLM reads it with "
            f"--enable-auto-tool-choice --tool-call-parser NAME{shown}",
        )
    return Finding("works", f"accepted, though this model did not call it{shown}")


async def forced_tool(endpoint: Endpoint, found: ProbeFound) -> Finding:
    """A call that is asked for by name, with arguments of its schema (`strict`)."""
    named = {"tool_choice": {"type": "function", "function": {"name": "look_up_weather"}}}
    reply = (await endpoint.chat(_ASKS, longest=256, tools=(_WEATHER,), also=named)).completion
    if not reply.tool_calls:
        return Finding("no", "tool_choice is ignored: no call came back")
    call = reply.tool_calls[0]
    if call.parse_error is not None:
        return Finding("no", f"a call came back, but its {readable(call.parse_error)}")
    if call.parsed().get("city") not in ("Oslo", "Lima"):
        return Finding(
            "no",
            f"a call came back whose arguments are not of the schema: {readable(call.arguments)}",
        )
    return Finding("works", f"{readable(call.name)} {readable(call.arguments)}")


async def structured(endpoint: Endpoint, found: ProbeFound) -> Finding:
    """A reply held to a JSON schema that the prompt does not speak of."""
    schema = {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "schema": _SCHEMA, "strict": True},
    }
    asks: list[Message] = [{"role": "user", "content": "Is the sea salty?"}]
    reply = (await endpoint.chat(asks, longest=256, also={"response_format": schema})).completion
    try:
        said = json.loads(reply.content or "")
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, dict) and said.get("answer") in ("yes", "no"):
        return Finding("works", readable(reply.content or ""))
    return Finding("no", f"response_format is ignored: {readable(reply.content or 'nothing')[:80]}")


async def reasoning(endpoint: Endpoint, found: ProbeFound) -> Finding:
    """Where the model's thinking stands, if it thinks."""
    reply = _plain(found).completion
    if reply.thought:
        return Finding("works", "thinking comes apart from the content")
    if "<think>" in (reply.content or ""):
        return Finding(
            "no", "thinking stands in the content; start vLLM with --reasoning-parser NAME"
        )
    return Finding("unknown", "this reply held no thinking")


async def logprobs(endpoint: Endpoint, found: ProbeFound) -> Finding:
    """The log-probability of each token of a reply."""
    reply = (await endpoint.chat(_CHAT, longest=8, also={"logprobs": True})).completion
    if not reply.logprobs:
        return Finding("no", "accepted, but none came back")
    return Finding("works", f"{len(reply.logprobs)} tokens of a reply have theirs")


async def token_ids(endpoint: Endpoint, found: ProbeFound) -> Finding:
    """The tokens that the model saw and drew, as vLLM returns them."""
    reply = (await endpoint.chat(_CHAT, longest=8, also={"return_token_ids": True})).completion
    prompt, completion = reply.prompt_token_ids, reply.completion_token_ids
    if not prompt or not completion:
        return Finding(
            "no", "none come back: what a trainer renders may differ from what the model saw"
        )
    return Finding("works", f"{len(prompt)} of the prompt and {len(completion)} of the reply")


async def ranks(endpoint: Endpoint, found: ProbeFound) -> Finding:
    """A chat scored token by token: `/tokenize`, and `prompt_logprobs` with ranks."""
    scoring = open_scoring(endpoint.settings.model_copy(update={"engine": "vllm"}))
    chat: list[Message] = [*_CHAT, {"role": "assistant", "content": "Good morning to you."}]
    try:
        async with asyncio.timeout(endpoint.timeout_s):
            scored = await scoring.score(chat, ())
    finally:
        await scoring.close()
    if scored.not_scored is not None:
        return Finding("no", f"this chat cannot be scored: {scored.not_scored}")
    return Finding(
        "works", f"{len(scored.tokens)} tokens scored, the first of rank {scored.tokens[0].rank}"
    )


async def prefix_cache(endpoint: Endpoint, found: ProbeFound) -> Finding:
    """How much of a prompt comes out of the server's cache the second time."""
    words = (
        PREFIX_WORDS
        if found.context is None or found.context >= LEAST_CONTEXT
        else min(PREFIX_WORDS, found.context // 16)
    )
    prompt: list[Message] = [{"role": "user", "content": f"{uuid4().hex} " + "order " * words}]
    first = await endpoint.chat(prompt, longest=1)
    second = await endpoint.chat(prompt, longest=1)
    prompt_tokens, cached = second.completion.usage.prompt_tokens, second.cached_tokens
    took = f"{first.took_s:.2f} s, then {second.took_s:.2f} s"
    if cached is None:
        return Finding(
            "unknown",
            f"replies do not tell ({took}); vLLM does with --enable-prompt-tokens-details",
        )
    if not cached:
        return Finding(
            "no", f"nothing of {prompt_tokens:,} prompt tokens was there the second time ({took})"
        )
    return Finding(
        "works",
        f"{cached:,} of {prompt_tokens:,} prompt tokens were there the second time ({took})",
    )


async def several(endpoint: Endpoint, found: ProbeFound) -> Finding:
    """Two replies to one prompt."""
    answer = await endpoint.chat(_CHAT, longest=8, also={"n": 2})
    choices: Any = answer.raw.get("choices") or ()
    return (
        Finding("works", "two replies to one prompt")
        if len(choices) == 2
        else Finding("no", "one reply came back where two were asked for")
    )


async def latency(endpoint: Endpoint, found: ProbeFound) -> Finding:
    """What a call takes that does as good as nothing."""
    took = [(await endpoint.chat(_CHAT, longest=1)).took_s for _ in range(LATENCY_CALLS)]
    return Finding(
        "works",
        f"{1000 * statistics.median(took):.0f} ms for a call of one token, the median of "
        f"{LATENCY_CALLS}",
    )


PROBES: dict[str, Probe] = {
    "usage": usage,
    "tools": offered_tool,
    "forced tool": forced_tool,
    "structured": structured,
    "reasoning": reasoning,
    "logprobs": logprobs,
    "token ids": token_ids,
    "ranks": ranks,
    "prefix cache": prefix_cache,
    "n > 1": several,
    "latency": latency,
}
"""What is asked of a server that can chat."""


async def probed(probe: Probe, endpoint: Endpoint, found: ProbeFound) -> Finding:
    """What a probe finds, or what kept it from finding anything."""
    try:
        return await probe(endpoint, found)
    except (ModelError, ConfigError) as error:
        return Finding("no", endpoint.said(error))
    except TimeoutError:
        return Finding("no", f"no reply within {endpoint.timeout_s:g} s")


def _plain(found: ProbeFound) -> ProbeReply:
    if found.plain is None:
        raise ServerError("plain chat does not work")
    return found.plain
