"""What a chat server can do, one question each. A probe gives the line of what works, or raises
`ModelError` with why it does not.
"""

import asyncio
import json
import statistics
from collections.abc import Awaitable, Callable, Mapping
from uuid import uuid4

from synth.models.probing.endpoint import BOUNDS, Endpoint, Finding, readable
from synth.models.registry import open_scoring
from synth.models.server_error import ServerError
from synth.models.tool_call_recovery import with_recovered_calls
from synth.schemas.errors import ConfigError
from synth.schemas.model import Message, ModelError
from synth.schemas.trajectory import ToolSchema

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
_SALTY: list[Message] = [{"role": "user", "content": "Is the sea salty?"}]
_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}

Probe = Callable[[Endpoint], Awaitable[str | Finding]]


async def plain_chat(endpoint: Endpoint) -> str:
    """A chat without anything; a server that refuses `max_tokens` is asked with its newer name."""
    try:
        endpoint.plain = await endpoint.chat(_CHAT)
    except ServerError as error:
        if error.status != 400 or BOUNDS[0] not in str(error):
            raise
        endpoint.bound = BOUNDS[1]
        endpoint.plain = await endpoint.chat(_CHAT)
    reply = endpoint.plain.completion
    tokens = reply.usage.completion_tokens
    ended = f", ended by {reply.finish_reason}" if reply.finish_reason else ""
    counted = f"{tokens} tokens" if tokens else "a reply"
    return f"{counted} in {endpoint.plain.took_s:.2f} s{ended}"


async def usage(endpoint: Endpoint) -> str:
    """Whether replies say how many tokens they took."""
    told = endpoint.plain.completion.usage
    if told.prompt_tokens and told.completion_tokens:
        return (
            f"{told.prompt_tokens} prompt and {told.completion_tokens} completion tokens are told"
        )
    raise ModelError(
        "replies do not say how many tokens they took: neither ceilings nor cost.json can count "
        "them"
    )


async def offered_tool(endpoint: Endpoint) -> str:
    """A tool offered as rollouts offer theirs: the model may call it or not."""
    reply = (await endpoint.chat(_ASKS, longest=256, tools=(_WEATHER,))).completion
    without = (await endpoint.chat(_ASKS, longest=1)).completion
    longer = reply.usage.prompt_tokens - without.usage.prompt_tokens
    shown = f"; it takes {longer} prompt tokens" if longer > 0 else ""
    if reply.tool_calls:
        return f"the model called it{shown}"
    if reply.usage.prompt_tokens and longer <= 0:
        raise ModelError(
            "accepted, but the prompt is no longer with it: the chat template does not show tools "
            "to the model"
        )
    if with_recovered_calls(reply, _ASKS, (_WEATHER,)).tool_calls:
        return (
            "the call came as text, which synth reads; vLLM reads it with "
            f"--enable-auto-tool-choice --tool-call-parser NAME{shown}"
        )
    return f"accepted, though this model did not call it{shown}"


async def forced_tool(endpoint: Endpoint) -> str:
    """A call that is asked for by name, with arguments of its schema (`strict`)."""
    choice = {"type": "function", "function": {"name": "look_up_weather"}}
    asked = await endpoint.chat(_ASKS, longest=256, tools=(_WEATHER,), tool_choice=choice)
    if not asked.completion.tool_calls:
        raise ModelError("tool_choice is ignored: no call came back")
    call = asked.completion.tool_calls[0]
    if call.parse_error is not None:
        raise ModelError(f"a call came back, but its {call.parse_error}")
    if call.parsed().get("city") not in ("Oslo", "Lima"):
        raise ModelError(
            f"a call came back whose arguments are not of the schema: {readable(call.arguments)}"
        )
    return f"{call.name} {call.arguments}"


async def structured(endpoint: Endpoint) -> str:
    """A reply held to a JSON schema that the prompt does not speak of."""
    schema = {"name": "verdict", "schema": _SCHEMA, "strict": True}
    shape = {"type": "json_schema", "json_schema": schema}
    reply = (await endpoint.chat(_SALTY, longest=256, response_format=shape)).completion.content
    try:
        said = json.loads(reply or "")
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, dict) and said.get("answer") in ("yes", "no"):
        return reply or ""
    raise ModelError(f"response_format is ignored: {readable(reply or 'nothing')[:80]}")


async def reasoning(endpoint: Endpoint) -> str | Finding:
    """Where the model's thinking stands, if it thinks."""
    reply = endpoint.plain.completion
    if reply.thought:
        return "thinking comes apart from the content"
    if "<think>" in (reply.content or ""):
        raise ModelError("thinking stands in the content; start vLLM with --reasoning-parser NAME")
    return Finding("unknown", "this reply held no thinking")


async def logprobs(endpoint: Endpoint) -> str:
    """The log-probability of each token of a reply."""
    found = (await endpoint.chat(_CHAT, longest=8, logprobs=True)).completion.logprobs
    if not found:
        raise ModelError("accepted, but none came back")
    return f"{len(found)} tokens of a reply have theirs"


async def token_ids(endpoint: Endpoint) -> str:
    """The tokens that the model saw and drew, as vLLM returns them."""
    reply = (await endpoint.chat(_CHAT, longest=8, return_token_ids=True)).completion
    prompt, completion = reply.prompt_token_ids, reply.completion_token_ids
    if not prompt or not completion:
        raise ModelError(
            "none come back: what a trainer renders may differ from what the model saw"
        )
    return f"{len(prompt)} of the prompt and {len(completion)} of the reply"


async def ranks(endpoint: Endpoint) -> str:
    """A chat scored token by token: `/tokenize`, and `prompt_logprobs` with ranks."""
    scoring = open_scoring(endpoint.settings.model_copy(update={"engine": "vllm"}))
    chat: list[Message] = [*_CHAT, {"role": "assistant", "content": "Good morning to you."}]
    try:
        async with asyncio.timeout(endpoint.timeout_s):
            scored = await scoring.score(chat, ())
    finally:
        await scoring.close()
    if scored.not_scored is not None:
        raise ModelError(f"this chat cannot be scored: {scored.not_scored}")
    return f"{len(scored.tokens)} tokens scored, the first of rank {scored.tokens[0].rank}"


async def prefix_cache(endpoint: Endpoint) -> str | Finding:
    """How much of a prompt comes out of the server's cache the second time."""
    most = endpoint.context or LEAST_CONTEXT
    words = PREFIX_WORDS if most >= LEAST_CONTEXT else min(PREFIX_WORDS, most // 16)
    prompt: list[Message] = [{"role": "user", "content": f"{uuid4().hex} " + "order " * words}]
    first = await endpoint.chat(prompt, longest=1)
    second = await endpoint.chat(prompt, longest=1)
    took = f"{first.took_s:.2f} s, then {second.took_s:.2f} s"
    tokens = second.completion.usage.prompt_tokens
    details = (second.raw.get("usage") or {}).get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    if cached is None:
        return Finding(
            "unknown",
            f"replies do not tell ({took}); vLLM does with --enable-prompt-tokens-details",
        )
    if not cached:
        raise ModelError(f"nothing of {tokens:,} prompt tokens was there the second time ({took})")
    return f"{cached:,} of {tokens:,} prompt tokens were there the second time ({took})"


async def several(endpoint: Endpoint) -> str:
    """Two replies to one prompt."""
    answer = await endpoint.chat(_CHAT, longest=8, n=2)
    if len(answer.raw.get("choices") or ()) != 2:
        raise ModelError("one reply came back where two were asked for")
    return "two replies to one prompt"


async def latency(endpoint: Endpoint) -> str:
    """What a call takes that does as good as nothing."""
    took = [(await endpoint.chat(_CHAT, longest=1)).took_s for _ in range(LATENCY_CALLS)]
    middle_ms = 1000 * statistics.median(took)
    return f"{middle_ms:.0f} ms for a call of one token, the median of {LATENCY_CALLS}"


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


async def probed(probe: Probe, endpoint: Endpoint) -> Finding:
    """What a probe finds, or what kept it from finding anything."""
    try:
        found = await probe(endpoint)
    except (ModelError, ConfigError) as error:
        return Finding("no", endpoint.said(error))
    except TimeoutError:
        return Finding("no", f"no reply within {endpoint.timeout_s:g} s")
    return found if isinstance(found, Finding) else Finding("works", readable(found))
