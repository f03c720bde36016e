"""What a server says about the models that it serves, and about its queue: /models and /metrics."""

import re

import msgspec

from synth.models.server_error import ServerError, decoded

_GAUGE = re.compile(
    rb"^vllm:num_requests_(running|waiting)(?:\{[^}]*\})? ([0-9.eE+-]+)$", re.MULTILINE
)


class ModelCard(msgspec.Struct):
    """One model: `root` is the folder or repository that vLLM has loaded, `parent` the base model
    of an adapter.
    """

    id: str
    root: str | None = None
    parent: str | None = None
    max_model_len: int | None = None
    owned_by: str | None = None


class _ListedModel(msgspec.Struct):
    data: list[ModelCard]


def model_cards(body: bytes, where: str) -> list[ModelCard]:
    """What /models lists. Raises `ServerError`."""
    return decoded(body, _ListedModel, f"{where}: its list of models").data


def weights_id(body: bytes, model: str, where: str) -> str | None:
    """What identifies the weights behind a model's name: the card's `root`, after its base model's
    name and a plus where it is an adapter; None where the card names none. vLLM's
    `system_fingerprint` is no such thing: it is a hash of how the server was set up, and differs
    between servers of the same weights.

    Raises `ServerError` where the server does not serve the model, or does not say what it serves.
    """
    cards = model_cards(body, where)
    for card in cards:
        if card.id == model:
            return "+".join(filter(None, (card.parent, card.root))) or None
    served = ", ".join(card.id for card in cards[:5]) or "none"
    raise ServerError(
        f"{where}: it serves no model of that name, but {served}; mend `model` or base_url",
        status=404,
    )


def queue(metrics: bytes) -> tuple[float, float] | None:
    """(running, waiting) requests of a vLLM server, summed over its engines; None where it does not
    tell.
    """
    found: dict[bytes, float] = {}
    for name, value in _GAUGE.findall(metrics):
        found[name] = found.get(name, 0.0) + float(value)
    return (found[b"running"], found[b"waiting"]) if len(found) == 2 else None
