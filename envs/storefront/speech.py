"""The customer's first words: name and requests; with everything they know where there is to be no dialogue."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from envs.storefront.customer import YES, detail_words
from envs.storefront.intents import Intent


def stated(intent: Intent) -> Intent:
    """The intent with all details and the yes said at once."""
    words = [detail_words(name, value) for name, value in intent.details.items()]
    request = structs.replace(
        intent.request, text=" ".join([intent.request.text, *words, YES]), given={**intent.details, "confirmation": "yes"}
    )
    return replace(intent, request=request)


def opening_words(name: str, slots: Mapping[str, str], intents: Sequence[Intent], *, email: bool, everything: bool) -> str:
    """The opening message."""
    known = slots if everything else {"email": slots["email"]} if email else {}
    slot_words = "".join(f" My {slot} is {value}." for slot, value in known.items())
    count = "one request" if len(intents) == 1 else f"{len(intents)} requests"
    lines = [f"{intent.request.number}. {intent.request.text}" for intent in intents]
    return f"Hello, this is {name}.{slot_words} I have {count}:\n" + "\n".join(lines)
