"""What works on a chat server, question by question, and the settings of a flow that asks it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import yaml

from synth.models.probing.endpoint import BOUNDS, Card, Endpoint, readable
from synth.models.probing.probes import PROBES, Finding, ProbeFound, plain_chat, probed
from synth.models.server_error import ServerError
from synth.models.settings import ModelSettings

MOST_NAMED = 5
UNNAMED = "(not named)"
"""For the model, until the server has named one."""


Said = Callable[[str, Finding], None]
"""Told the name of a question and what was found."""


class Examined(msgspec.Struct, frozen=True):
    """What a server can do: the names of what `works`, and the part of a flow.yaml that names it;
    no such lines where plain chat does not work.
    """

    works: frozenset[str]
    flow_lines: tuple[str, ...]


async def examine(
    url: str, model: str | None, api_key_env: str | None, timeout_s: float, say: Said
) -> Examined:
    """Asks a server what it can do, with about 20 short calls. Raises `ConfigError` for an address
    or a key's variable that cannot be used.
    """
    endpoint = Endpoint(_settings(url, model or UNNAMED, api_key_env, timeout_s))
    try:
        cards, problem = await _listed(endpoint)
        if problem is not None and problem.status == 404 and not endpoint.url.endswith("/v1"):
            await endpoint.close()
            endpoint = Endpoint(
                _settings(f"{endpoint.url}/v1", model or UNNAMED, api_key_env, timeout_s)
            )
            cards, problem = await _listed(endpoint)
        if problem is not None and problem.status is None:
            say("reachable", Finding("no", endpoint.said(problem)))
            return _verdict(endpoint, ProbeFound())
        say("reachable", Finding("works", await _kind(endpoint, cards)))
        if cards and model is None:
            await endpoint.close()
            endpoint = Endpoint(_settings(endpoint.url, cards[0].id, api_key_env, timeout_s))
        asked = endpoint.settings.model
        why = endpoint.said(problem).partition("; look whether")[0] if problem is not None else ""
        say("models", Finding("no", why) if why else _served(cards, asked))
        found = ProbeFound(
            context=next((card.max_model_len for card in cards if card.id == asked), None)
        )
        if asked == UNNAMED:
            say("plain chat", Finding("no", "which model? name one with --model"))
        else:
            await _ask(endpoint, found, say)
        return _verdict(endpoint, found)
    finally:
        await endpoint.close()


async def _listed(endpoint: Endpoint) -> tuple[list[Card], ServerError | None]:
    """The models that the server lists, or why there are none."""
    try:
        return await endpoint.models(), None
    except ServerError as error:
        return [], error


async def _kind(endpoint: Endpoint, cards: list[Card]) -> str:
    """The address, and whose server of which version stands there, as far as it says so."""
    owner = next((card.owned_by for card in cards if card.owned_by), None)
    kind = readable(" ".join(part for part in (owner, await endpoint.version()) if part))
    return f"{endpoint.url} ({kind})" if kind else endpoint.url


def _served(cards: list[Card], model: str) -> Finding:
    if not cards:
        return Finding("no", "the server lists none")
    names = ", ".join(readable(card.id) for card in cards[:MOST_NAMED]) + (
        ", ..." if len(cards) > MOST_NAMED else ""
    )
    card = next((card for card in cards if card.id == model), None)
    if card is None:
        return Finding("no", f"{model} is not among those served: {names}")
    others = f"; asked: {readable(model)} (--model names another)" if len(cards) > 1 else ""
    weights = f" (weights: {readable(card.root)})" if card.root and card.root != card.id else ""
    return Finding("works", f"{names}{weights}{others}")


async def _ask(endpoint: Endpoint, found: ProbeFound, say: Said) -> None:
    plain = await probed(plain_chat, endpoint, found)
    say("plain chat", plain)
    if found.plain is None:
        return
    say("context", _context(found))
    for name, probe in PROBES.items():
        finding = await probed(probe, endpoint, found)
        say(name, finding)
        if finding.word == "works":
            found.works.add(name)


def _context(found: ProbeFound) -> Finding:
    if found.context is None:
        return Finding("unknown", "the server does not say how long a conversation may be")
    return Finding("works", f"{found.context:,} tokens for prompt and reply")


def _verdict(endpoint: Endpoint, found: ProbeFound) -> Examined:
    lines = () if found.plain is None else tuple(flow_lines(endpoint, found))
    return Examined(frozenset(found.works), lines)


def flow_lines(endpoint: Endpoint, found: ProbeFound) -> Iterator[str]:
    """The part of a flow.yaml that names the server, to be pasted as it is."""
    own, settings = "token ids" in found.works, endpoint.settings
    written: dict[str, Any] = {
        "engine": "vllm" if own else "openai",
        "model": settings.model,
        "base_url": endpoint.url,
    }
    notes: Mapping[str, str] = {
        "engine": "keeps token ids" if own else "returned token ids are vLLM's",
        "max_in_flight": "calls at a time",
        "logprobs": "kept with each turn",
    }
    if settings.api_key_env is not None:
        written["api_key_env"] = settings.api_key_env
    written["max_in_flight"] = 64
    if own and "logprobs" in found.works:
        written["logprobs"] = True
    if endpoint.bound == BOUNDS[1]:
        written["extra_body"] = {BOUNDS[1]: 1024}
    else:
        written["max_tokens"] = 1024
    yield "models:"
    yield "  explorer:"
    for key, value in written.items():
        text = (
            yaml.safe_dump(value, default_flow_style=True, width=1000, allow_unicode=True)
            .removesuffix("\n")
            .removesuffix("\n...")
        )
        yield f"    {key}: {text}" + (f"  # {notes[key]}" if key in notes else "")


def _settings(url: str, model: str, api_key_env: str | None, timeout_s: float) -> ModelSettings:
    return ModelSettings(
        base_url=url,
        model=model,
        api_key_env=api_key_env,
        timeout_s=timeout_s,
        total_timeout_s=timeout_s,
        connect_timeout_s=min(10.0, timeout_s),
        max_retries=0,
    )
