"""`synth doctor --endpoint`: what works on a chat server, a line each, and the settings of a flow
that asks it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import click
import yaml

from synth.cli.endpoint import BOUNDS, Card, Endpoint, readable
from synth.cli.probes import PROBES, Finding, Found, plain_chat, probed
from synth.models.server_error import ServerError
from synth.models.settings import ModelSettings

COLOURS = {"works": "green", "no": "red", "unknown": "yellow"}
MOST_NAMED = 5
UNNAMED = "(not named)"
"""For the model, until the server has named one."""


async def examine(url: str, model: str | None, api_key_env: str | None, timeout_s: float) -> bool:
    """Says what works; whether plain chat does. Raises `ConfigError` for an address or a key's
    variable that cannot be used.
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
            _say("reachable", Finding("no", endpoint.said(problem)))
            return _verdict(endpoint, Found())
        _say("reachable", Finding("works", await _kind(endpoint, cards)))
        if cards and model is None:
            await endpoint.close()
            endpoint = Endpoint(_settings(endpoint.url, cards[0].id, api_key_env, timeout_s))
        asked = endpoint.settings.model
        why = endpoint.said(problem).partition("; look whether")[0] if problem is not None else ""
        _say("models", Finding("no", why) if why else _served(cards, asked))
        found = Found(
            context=next((card.max_model_len for card in cards if card.id == asked), None)
        )
        if asked == UNNAMED:
            _say("plain chat", Finding("no", "which model? name one with --model"))
        else:
            await _ask(endpoint, found)
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


async def _ask(endpoint: Endpoint, found: Found) -> None:
    plain = await probed(plain_chat, endpoint, found)
    _say("plain chat", plain)
    if found.plain is None:
        return
    _say("context", _context(found))
    for name, probe in PROBES.items():
        finding = await probed(probe, endpoint, found)
        _say(name, finding)
        if finding.word == "works":
            found.works.add(name)


def _context(found: Found) -> Finding:
    if found.context is None:
        return Finding("unknown", "the server does not say how long a conversation may be")
    return Finding("works", f"{found.context:,} tokens for prompt and reply")


def _say(name: str, finding: Finding) -> None:
    click.echo(
        f"{name:<13} {click.style(f'{finding.word:<8}', fg=COLOURS[finding.word])} {finding.said}"
    )


def _verdict(endpoint: Endpoint, found: Found) -> bool:
    if found.plain is None:
        click.echo("verdict       a flow cannot use this server: plain chat does not work")
        return False
    but = "" if "tools" in found.works else ", but not in a world with tools: mend that first"
    click.echo(f"verdict       a flow can use this server{but}:\n")
    for line in flow_lines(endpoint, found):
        click.echo(line)
    return True


def flow_lines(endpoint: Endpoint, found: Found) -> Iterator[str]:
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
