"""What works on a chat server, question by question, and the settings of a flow that asks it."""

from collections.abc import Callable, Iterator, Set

import msgspec
import yaml

from synth.models.probing.endpoint import BOUNDS, Endpoint, Finding, readable
from synth.models.probing.probes import PROBES, probed
from synth.models.server_error import ServerError
from synth.models.servers.model_card import ModelCard
from synth.models.settings import ModelSettings

MOST_NAMED = 5
UNNAMED = "(not named)"
"""For the model, until the server has named one."""
OWN_ENGINE = "vllm  # keeps token ids"
OTHER_ENGINE = "openai  # returned token ids are vLLM's"


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
    settings = ModelSettings(
        base_url=url,
        model=model or UNNAMED,
        api_key_env=api_key_env,
        timeout_s=timeout_s,
        total_timeout_s=timeout_s,
        connect_timeout_s=min(10.0, timeout_s),
        max_retries=0,
    )

    endpoint = Endpoint(settings)
    try:
        cards, problem = await _listed(endpoint)
        if problem is not None and problem.status == 404 and not endpoint.url.endswith("/v1"):
            endpoint = await endpoint.anew(base_url=f"{endpoint.url}/v1")
            cards, problem = await _listed(endpoint)

        if problem is not None and problem.status is None:
            say("reachable", Finding("no", endpoint.said(problem)))
            return Examined(frozenset(), ())

        say("reachable", Finding("works", await _kind(endpoint, cards)))
        if cards and model is None:
            endpoint = await endpoint.anew(model=cards[0].id)

        asked = endpoint.settings.model
        why = endpoint.said(problem).partition("; look whether")[0] if problem is not None else ""
        say("models", Finding("no", why) if why else _served(cards, asked))
        endpoint.context = next((one.max_model_len for one in cards if one.id == asked), None)
        endpoint.weights = next((one.root for one in cards if one.id == asked), None)

        if asked == UNNAMED:
            say("plain chat", Finding("no", "which model? name one with --model"))
            return Examined(frozenset(), ())
        return await _asked(endpoint, say)
    finally:
        await endpoint.close()


async def _asked(endpoint: Endpoint, say: Said) -> Examined:
    """All questions, as long as plain chat works."""
    plain = await probed("plain chat", endpoint)
    say("plain chat", plain)
    if plain.word == "no":
        return Examined(frozenset(), ())

    context = "the server does not say how long a conversation may be"
    if endpoint.context is not None:
        context = f"{endpoint.context:,} tokens for prompt and reply"
    say("context", Finding("works" if endpoint.context is not None else "unknown", context))

    works = set()
    for name in PROBES:
        finding = await probed(name, endpoint)
        say(name, finding)
        if finding.word == "works":
            works.add(name)
    return Examined(frozenset(works), tuple(flow_lines(endpoint, works)))


async def _listed(endpoint: Endpoint) -> tuple[list[ModelCard], ServerError | None]:
    """The models that the server lists, or why there are none."""
    try:
        return await endpoint.models(), None
    except ServerError as error:
        return [], error


async def _kind(endpoint: Endpoint, cards: list[ModelCard]) -> str:
    """The address, and whose server of which version stands there, as far as it says so."""
    owner = next((card.owned_by for card in cards if card.owned_by), None)
    kind = readable(" ".join(part for part in (owner, await endpoint.version()) if part))
    return f"{endpoint.url} ({kind})" if kind else endpoint.url


def _served(cards: list[ModelCard], model: str) -> Finding:
    if not cards:
        return Finding("no", "the server lists none")

    names = ", ".join(readable(card.id) for card in cards[:MOST_NAMED])
    names += ", ..." if len(cards) > MOST_NAMED else ""

    card = next((card for card in cards if card.id == model), None)
    if card is None:
        return Finding("no", f"{model} is not among those served: {names}")

    others = f"; asked: {readable(model)} (--model names another)" if len(cards) > 1 else ""
    weights = f" (weights: {readable(card.root)})" if card.root and card.root != card.id else ""
    return Finding("works", f"{names}{weights}{others}")


def flow_lines(endpoint: Endpoint, works: Set[str]) -> Iterator[str]:
    """The part of a flow.yaml that names the server, to be pasted as it is."""
    own, key = "token ids" in works, endpoint.settings.api_key_env
    yield "models:"
    yield "  explorer:"
    yield f"    engine: {OWN_ENGINE if own else OTHER_ENGINE}"
    yield f"    model: {_written(endpoint.settings.model)}"
    yield f"    base_url: {_written(endpoint.url)}"
    if key is not None:
        yield f"    api_key_env: {_written(key)}"

    yield "    max_in_flight: 64  # calls at a time"
    if own and "logprobs" in works:
        yield "    logprobs: true  # kept with each turn"
    bound = f"{endpoint.bound}: 1024"
    if endpoint.bound == BOUNDS[1]:  # no setting of its own, so it goes into the body as it is
        bound = "extra_body: {" + bound + "}"
    yield f"    {bound}"


def _written(text: str) -> str:
    """As YAML has it, in quotes where it needs them."""
    return str(yaml.safe_dump(text, width=1000, allow_unicode=True)).removesuffix("\n...\n").strip()
