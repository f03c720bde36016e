"""What the customer says and knows: the first words with name and requests, with all details where
there is to be no dialogue.
"""

from collections.abc import Sequence
from typing import NamedTuple

from synth.envs.storefront.customer.customer import YES, detail_words
from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.tasks.requests.user_intents import Draw, Intent
from synth.envs.storefront.world.shop_events import ShopEvent


class Spoken(NamedTuple):
    """The requests as they are said, what the customer knows and follows, and the opening words."""

    intents: tuple[Intent, ...]
    script: Script
    opening: str


def _stated(intent: Intent) -> Intent:
    """The request with all details and the yes said at once."""
    words = [detail_words(name, value) for name, value in intent.details.items()]
    given = {**intent.details, "confirmation": "yes"}

    return intent.complicated(words=" ".join(["", *words, YES]), given=given)


def spoken(
    draw: Draw,
    intents: Sequence[Intent],
    known: Sequence[str] = (),
    noise: Sequence[ShopEvent] = (),
) -> Spoken:
    """What the customer says; `known` are the identity factors that they have, where they are not
    left to chance.
    """
    rng = draw.rng
    config = draw.config
    customer = draw.base.row("customers", draw.customer_id)
    # an email, a phone number and a zip are what two factors are verified from
    slots = {name: customer[name] for name in known or ("email", "phone", "zip")}

    # two factors are left, which are enough
    if rng.random() < config.reticence and not known:
        del slots[rng.choice(("email", "phone"))]

    greets_with_email = "email" in slots and rng.random() < 0.3
    stated = ("email",) * greets_with_email if config.dialogue else tuple(slots)
    said = tuple(intents if config.dialogue else map(_stated, intents))

    script = Script(
        name=customer["name"],
        slots=slots,
        requests=tuple(intent.request for intent in said),
        details={str(one.request.number): one.details for one in said if one.details},
        revisions=tuple(revision for intent in said for revision in intent.revisions),
        events=(*(event for intent in said for event in intent.events), *noise),
        stated=stated,
        # everybody pushes back once
        pressure=1 + (rng.randint(1, 2) if rng.random() < config.pressure else 0),
    )

    return Spoken(said, script, _opening(script))


def _opening(script: Script) -> str:
    """The first words: who speaks, and the requests as a numbered list."""
    slot_words = "".join(f" My {slot} is {script.slots[slot]}." for slot in script.stated)
    number = len(script.requests)
    count = "one request" if number == 1 else f"{number} requests"
    lines = [f"{request.number}. {request.text}" for request in script.requests]
    first = f"Hello, this is {script.name}.{slot_words} I have {count}:"

    return "\n".join([first, *lines])
