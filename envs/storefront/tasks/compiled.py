"""What requests come to: the customer's script and first words, what the right calls make of the
world, and what a check asks for.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from synth.envs.fact_pattern import matches
from synth.envs.storefront.check.process import LOOK_UP, PROCESS
from synth.envs.storefront.customer.customer import YES, detail_words
from synth.envs.storefront.customer.script import Script, ShopEvent
from synth.envs.storefront.tasks.intents import Draw, Intent
from synth.envs.storefront.tools.shop import Elapsed, Shop
from synth.envs.storefront.tools.write import WRITES
from synth.envs.storefront.world.config import OF_THE_WORLD, StorefrontConfig
from synth.envs.storefront.world.policy import Call
from synth.envs.storefront.world.state import State
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas import RowPredicate, Scalar, canonical_json

ALWAYS_FREE = (
    "conversation/*/*",
    "denials/*/*",
    "notes/*/*",
    "returns/*/*",
    "variants/*/stock",
    "escalations/*/summary",
)
"""Slips of a return are free: what is returned, and how, stands in the lines, however many slips it
took.
"""
FACTORS_KNOWN = ("email", "phone", "zip")
"""What a customer is verified by, two of them."""
_TO_BUILTINS = msgspec.json.Decoder(dict[str, Any])


def after(
    base: BaseWorld,
    calls: Iterable[Call],
    events: Iterable[ShopEvent] = (),
) -> State:
    """The state after events and the writes among the calls."""
    shop = Shop(
        State(base),
        Script(),
        StorefrontConfig(),
        Elapsed(),
    )
    # a tool that holds R15 asks who was verified, and here nobody was
    shop.rules = replace(base.rules, enforced=frozenset())

    # a racing event is faster than any write
    for event in events:
        shop.state.update(event.table, event.key, **event.values)

    for tool, arguments in calls:
        if tool in WRITES:
            WRITES[tool](shop, **arguments)

    return shop.state


def required(
    state: State,
    free: Sequence[str],
) -> Iterator[RowPredicate]:
    """The rows that differ from the start, in the columns that do and are not free; an old row is
    named by its key, a new one by its content.
    """
    rows: dict[tuple[str, str], dict[str, Scalar]] = {}

    for path, value in state.changed_facts().items():
        table, key, column = path.split("/", 2)

        if not any(matches(pattern, path) for pattern in free):
            rows.setdefault((table, key), {})[column] = value

    for (table, key), where in rows.items():
        # the keys of new rows depend on how an agent got there
        is_old = key in state.base.tables[table]
        yield RowPredicate(table, {"id": key, **where} if is_old else where)


def asked_of(
    draw: Draw,
    intents: Sequence[Intent],
) -> dict[str, Any]:
    """What requests ask for beside the final state: the facts, refusals, rules and free paths of a
    check.
    """
    rules = {*draw.base.rules.in_force, LOOK_UP}
    # without dialogue nobody can be asked for a yes
    rules -= set() if draw.config.dialogue else {"R2"}

    return {
        "told": tuple(fact for intent in intents for fact in intent.told),
        "refusals": tuple(refusal for intent in intents for refusal in intent.refusals),
        "process": tuple(rule for rule in PROCESS if rule in rules),
        "free": tuple(dict.fromkeys(path for intent in intents for path in intent.free)),
    }


def plain_script(script: Script) -> dict[str, Any]:
    """A script as a task holds it."""
    return _TO_BUILTINS.decode(canonical_json(script))


def settings_of_world(
    config: StorefrontConfig,
    world_seed: int | None,
    facts: Mapping[str, Scalar],
) -> dict[str, Any]:
    """What an episode of a task needs of the settings: the task's `env_config`."""
    world = config.model_dump(include=set(OF_THE_WORLD)) | {"world_seed": world_seed or 0}

    return {**world, "facts": dict(sorted(facts.items()))} if facts else world


def stated(
    draw: Draw,
    intents: Iterable[Intent],
) -> tuple[Intent, ...]:
    """The requests as they are said: where there is to be no dialogue, with all details and the yes
    at once.
    """
    if draw.config.dialogue:
        return tuple(intents)

    return tuple(
        intent.complicated(
            words=" ".join(
                [
                    "",
                    *map(
                        detail_words,
                        intent.details,
                        intent.details.values(),
                    ),
                    YES,
                ]
            ),
            given={**intent.details, "confirmation": "yes"},
        )
        for intent in intents
    )


def script_of(
    draw: Draw,
    said: Sequence[Intent],
    known: Sequence[str] = (),
    noise: Sequence[ShopEvent] = (),
) -> Script:
    """What the customer wants, says and knows; `known` are the identity factors that they have,
    where they are not left to chance, `noise` are events about orders of others.
    """
    rng = draw.rng
    config = draw.config
    slots = _slots(draw, known)
    greets_with_email = "email" in slots and rng.random() < 0.3

    return Script(
        name=draw.file["name"],
        slots=slots,
        requests=tuple(intent.request for intent in said),
        details={str(one.request.number): one.details for one in said if one.details},
        revisions=tuple(revision for intent in said for revision in intent.revisions),
        events=(*(event for intent in said for event in intent.events), *noise),
        stated=("email",) * greets_with_email if config.dialogue else tuple(slots),
        # everybody pushes back once
        pressure=1 + (rng.randint(1, 2) if rng.random() < config.pressure else 0),
    )


def _slots(draw: Draw, known: Sequence[str]) -> dict[str, str]:
    """The identity factors that the customer has: these, else all, or two, which are enough."""
    customer = draw.base.row("customers", draw.customer_id)
    slots = {name: customer[name] for name in known or FACTORS_KNOWN}

    if draw.rng.random() < draw.config.reticence and not known:
        del slots[draw.rng.choice(("email", "phone"))]

    return slots


def opening_of(script: Script) -> str:
    """The first words: who speaks, and the requests as a numbered list."""
    slots = "".join(f" My {slot} is {script.slots[slot]}." for slot in script.stated)
    number = len(script.requests)
    count = "one request" if number == 1 else f"{number} requests"
    lines = [f"{request.number}. {request.text}" for request in script.requests]

    return "\n".join([f"Hello, this is {script.name}.{slots} I have {count}:", *lines])
