"""What the customer says and knows: the first words with name and requests, with all details where
there is to be no dialogue.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from msgspec import structs

from synth.envs.storefront.customer.customer import YES, detail_words
from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.tasks.intents import Intent
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.shop_events import ShopEvent
from synth.envs.storefront.world.world import BaseWorld


def stated(intent: Intent) -> Intent:
    """The intent with all details and the yes said at once."""
    words = [detail_words(name, value) for name, value in intent.details.items()]
    request = structs.replace(
        intent.request,
        text=" ".join([intent.request.text, *words, YES]),
        given={**intent.details, "confirmation": "yes"},
    )
    return replace(intent, request=request)


def opening_words(
    name: str, slots: Mapping[str, str], intents: Sequence[Intent], known: Sequence[str]
) -> str:
    """The opening message."""
    slot_words = "".join(f" My {slot} is {slots[slot]}." for slot in known)
    count = "one request" if len(intents) == 1 else f"{len(intents)} requests"
    lines = [f"{intent.request.number}. {intent.request.text}" for intent in intents]
    return f"Hello, this is {name}.{slot_words} I have {count}:\n" + "\n".join(lines)


def spoken(
    rng: Random,
    config: StorefrontConfig,
    base: BaseWorld,
    customer_id: str,
    wishes: Sequence[Intent],
    known: Sequence[str] = (),
    noise: Sequence[ShopEvent] = (),
) -> tuple[tuple[Intent, ...], Script, str]:
    """The requests as they are said, what the customer knows and follows, and the opening words;
    `known` are the identity factors that
    they have, where they are not left to chance.
    """
    customer = base.tables["customers"][customer_id]
    slots = {name: customer[name] for name in known or ("email", "phone", "zip")}
    if rng.random() < config.reticence and not known:
        del slots[rng.choice(("email", "phone"))]
    greets_with_email = "email" in slots and rng.random() < 0.3
    intents = tuple(wishes) if config.dialogue else tuple(stated(intent) for intent in wishes)
    stated_slots = () if config.dialogue else tuple(slots)
    if greets_with_email and config.dialogue:
        stated_slots = ("email",)
    script = Script(
        name=customer["name"],
        slots=slots,
        requests=tuple(intent.request for intent in intents),
        details={
            str(intent.request.number): intent.details for intent in intents if intent.details
        },
        revisions=tuple(revision for intent in intents for revision in intent.revisions),
        events=(*(event for intent in intents for event in intent.events), *noise),
        stated=stated_slots,
        pressure=1 + (rng.randint(1, 2) if rng.random() < config.pressure else 0),
    )
    return intents, script, opening_words(customer["name"], slots, intents, stated_slots)
