"""What a chat server can do, one question each. A probe is given the replies to its requests
(requests.yaml), and gives the line of what works, or raises `ModelError` with why it does not.
"""

import asyncio
import json
import statistics
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Any
from uuid import uuid4

from synth.models.probing.endpoint import BOUNDS, Endpoint, Finding, ProbeReply, readable
from synth.models.probing.parsers import parser_of_form
from synth.models.refused_features import SHOWN_ONLY, wants_parser
from synth.models.registry import open_scoring
from synth.models.replies.tool_call_recovery import with_recovered_calls
from synth.models.server_error import ServerError
from synth.schemas import ConfigError, Message, ModelError, read_yaml

_FILE = files("synth.models.probing") / "requests.yaml"
REQUESTS: Mapping[str, list[dict[str, Any]]] = read_yaml(_FILE.read_text(), _FILE.name)
_UNKNOWN_PARSER = "--enable-auto-tool-choice --tool-call-parser NAME (docs/models.md)"
PREFIX_WORDS = 1500
"""Of the prompt that is sent twice: OpenAI caches from 1,024 tokens on, vLLM whole blocks of 16."""
LEAST_CONTEXT = 8192
"""Below it a quarter of the prompt must do."""

Probe = Callable[..., Awaitable[str | Finding]]


async def plain_chat(endpoint: Endpoint) -> str:
    """A chat without anything; a server that refuses `max_tokens` is asked with its newer name."""
    (request,) = REQUESTS["plain chat"]
    try:
        endpoint.plain = await endpoint.chat(**request)
    except ServerError as error:
        if error.status != 400 or BOUNDS[0] not in str(error):
            raise
        endpoint.bound = BOUNDS[1]
        endpoint.plain = await endpoint.chat(**request)

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


async def offered_tool(endpoint: Endpoint, offered: ProbeReply, plain: ProbeReply) -> str:
    """A tool offered as rollouts offer theirs: the model may call it or not."""
    reply = offered.completion
    longer = reply.usage.prompt_tokens - plain.completion.usage.prompt_tokens
    shown = f"; it takes {longer} prompt tokens" if longer > 0 else ""

    if reply.tool_calls:
        return f"the model called it{shown}"
    if reply.usage.prompt_tokens and longer <= 0:
        raise ModelError(
            "accepted, but the prompt is no longer with it: the chat template does not show tools "
            "to the model"
        )
    request = REQUESTS["tools"][0]
    read = with_recovered_calls(reply, request["messages"], request["tools"])
    if read.tool_calls:
        parser = parser_of_form(read.repairs) or "NAME"
        if endpoint.parsers is not None:
            parser = endpoint.parsers.calls
        return (
            "the call came as text, which synth reads; vLLM reads it with "
            f"--enable-auto-tool-choice --tool-call-parser {parser}{shown}"
        )
    if endpoint.without_parser:
        flags = " ".join(endpoint.parsers.flags) if endpoint.parsers else _UNKNOWN_PARSER
        return f"the server has no parser for calls, synth reads them as text; better: {flags}"
    return f"accepted, though this model did not call it{shown}"


async def forced_tool(endpoint: Endpoint, reply: ProbeReply) -> str:
    """A call that is asked for by name, with arguments of its schema (`strict`)."""
    if not reply.completion.tool_calls:
        raise ModelError("tool_choice is ignored: no call came back")
    call = reply.completion.tool_calls[0]

    if call.parse_error is not None:
        raise ModelError(f"a call came back, but its {call.parse_error}")
    if call.parsed().get("city") not in ("Oslo", "Lima"):
        raise ModelError(
            f"a call came back whose arguments are not of the schema: {readable(call.arguments)}"
        )
    return f"{call.name} {call.arguments}"


async def structured(endpoint: Endpoint, reply: ProbeReply) -> str:
    """A reply held to a JSON schema that the prompt does not speak of."""
    said = reply.completion.content or ""
    try:
        verdict = json.loads(said)
    except (ValueError, RecursionError):
        verdict = None
    if isinstance(verdict, dict) and verdict.get("answer") in ("yes", "no"):
        return said
    raise ModelError(f"response_format is ignored: {readable(said or 'nothing')[:80]}")


async def reasoning(endpoint: Endpoint) -> str | Finding:
    """Where the model's thinking stands, if it thinks."""
    reply = endpoint.plain.completion
    if reply.thought:
        return "thinking comes apart from the content"
    if "<think>" in (reply.content or ""):
        family = endpoint.parsers
        parser = family.thinking if family is not None and family.thinking else "NAME"
        raise ModelError(
            f"thinking stands in the content; start vLLM with --reasoning-parser {parser}"
        )
    return Finding("unknown", "this reply held no thinking")


async def logprobs(endpoint: Endpoint, reply: ProbeReply) -> str:
    """The log-probability of each token of a reply."""
    found = reply.completion.logprobs
    if not found:
        raise ModelError("accepted, but none came back")
    return f"{len(found)} tokens of a reply have theirs"


async def token_ids(endpoint: Endpoint, reply: ProbeReply) -> str:
    """The tokens that the model saw and drew, as vLLM returns them."""
    prompt, drawn = reply.completion.prompt_token_ids, reply.completion.completion_token_ids
    if not prompt or not drawn:
        raise ModelError(
            "none come back: what a trainer renders may differ from what the model saw"
        )
    return f"{len(prompt)} of the prompt and {len(drawn)} of the reply"


async def ranks(endpoint: Endpoint) -> str:
    """A chat scored token by token: `/tokenize`, and `prompt_logprobs` with ranks."""
    scoring = open_scoring(endpoint.settings.model_copy(update={"engine": "vllm"}))
    answer: Message = {"role": "assistant", "content": "Good morning to you."}
    try:
        async with asyncio.timeout(endpoint.timeout_s):
            scored = await scoring.score([*REQUESTS["plain chat"][0]["messages"], answer], ())
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
    first, second = [await endpoint.chat(prompt, longest=1) for _ in range(2)]

    took = f"{first.took_s:.2f} s, then {second.took_s:.2f} s"
    tokens = second.completion.usage.prompt_tokens
    details = (second.raw.get("usage") or {}).get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None

    if cached is None:
        why = f"replies do not tell ({took}); vLLM does with --enable-prompt-tokens-details"
        return Finding("unknown", why)
    if not cached:
        raise ModelError(f"nothing of {tokens:,} prompt tokens was there the second time ({took})")
    return f"{cached:,} of {tokens:,} prompt tokens were there the second time ({took})"


async def several(endpoint: Endpoint, reply: ProbeReply) -> str:
    """Two replies to one prompt."""
    if len(reply.raw.get("choices") or ()) != 2:
        raise ModelError("one reply came back where two were asked for")
    return "two replies to one prompt"


async def latency(endpoint: Endpoint, *replies: ProbeReply) -> str:
    """What a call takes that does as good as nothing."""
    middle_ms = 1000 * statistics.median(reply.took_s for reply in replies)
    return f"{middle_ms:.0f} ms for a call of one token, the median of {len(replies)}"


async def _replied(endpoint: Endpoint, request: Mapping[str, Any]) -> ProbeReply:
    """A reply; tools that are refused for want of a parser are shown to the model only, as a run
    does it.
    """
    try:
        return await endpoint.chat(**request)
    except ServerError as error:
        if "tools" not in request or "tool_choice" in request or not wants_parser(error):
            raise
    endpoint.without_parser = True
    return await endpoint.chat(**request, **SHOWN_ONLY)


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


async def probed(name: str, endpoint: Endpoint) -> Finding:
    """What a probe finds, or what kept it from finding anything."""
    try:
        asked = REQUESTS.get(name, []) if name in PROBES else []
        replies = [await _replied(endpoint, request) for request in asked]
        found = await PROBES.get(name, plain_chat)(endpoint, *replies)
    except (ModelError, ConfigError) as error:
        return Finding("no", endpoint.said(error))
    except TimeoutError:
        return Finding("no", f"no reply within {endpoint.timeout_s:g} s")
    return found if isinstance(found, Finding) else Finding("works", readable(found))
