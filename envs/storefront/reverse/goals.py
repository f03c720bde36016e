"""What a customer would have asked for, had a stretch of an exploration been done for them: the
storefront's `WriteGoal`.
"""

from collections.abc import Sequence
from random import Random

from synth.envs.storefront.check.case import EpisodeView
from synth.envs.storefront.check.check import evaluate
from synth.envs.storefront.check.process import PROCESS, breaches
from synth.envs.storefront.reverse.matters import Matter, matters
from synth.envs.storefront.reverse.questions import answer, question
from synth.envs.storefront.reverse.wishes import wish
from synth.envs.storefront.reverse.wording import instruction, structure
from synth.envs.storefront.tasks.goals import (
    ALWAYS_FREE,
    asked,
    plain_script,
    process_of,
    settings_of_world,
)
from synth.envs.storefront.tasks.intents import Draw, Intent
from synth.envs.storefront.tasks.plots import composed
from synth.envs.storefront.tasks.speech import Spoken, spoken
from synth.envs.storefront.tools.event_log import event_log
from synth.envs.storefront.tools.transcript import Exchange, exchanged
from synth.envs.storefront.world.config import StorefrontConfig, validated
from synth.envs.storefront.world.rules import NEEDED_FACTORS
from synth.envs.storefront.world.world import BaseWorld, world_of
from synth.schemas.canonical import content_hash
from synth.schemas.check import Check, Facts
from synth.schemas.reverse import Draft, NoGoal, Operation, Window

NOTES = ("notes/*/*",)
"""The free facts that a goal is about where it asks for a note."""
MOST_REQUESTS = 6
OF_THE_SCRIPT = frozenset({"R13"})
"""Rules that ask what the customer wants: in an exploration they want nothing."""


def write_goal(window: Window) -> Draft | NoGoal:
    """The goal of a window as template tasks have it: requests in the customer's words, and what
    they know.

    No goal where the walk broke the policy in it, where it does or undoes half a thing, where no
    words of the goal grammar ask for it,
    and where what is asked for together is held out of training.
    """
    config = validated(window.env_config, "window.env_config")
    base, walk = world_of(config), exchanged(window.walk)
    customer_id = _customer(window, base, walk)
    if isinstance(customer_id, NoGoal):
        return customer_id
    found: Sequence[Matter | Operation] | NoGoal = window.operations
    if any(operation.shown is None for operation in window.operations):
        found = matters(window.operations, walk)
    if isinstance(found, NoGoal):
        return found
    if len(found) > MOST_REQUESTS:
        return NoGoal("too_many_requests")
    start = window.start
    changed = {
        path: value
        for path, value in window.end.items()
        if path not in start or start[path] != value
    }
    turns = [operation.turn for operation in window.operations]
    name = f"storefront/reverse/{content_hash([base.seed, window.seed, turns])}"
    intents: list[Intent] = []
    for number, matter in enumerate(found, start=1):
        draw, of = Draw(Random(), config, base, number, customer_id), f"{name}/{number}"
        intent = (
            question(matter, walk, draw, of)
            if isinstance(matter, Operation)
            else wish(matter, draw, of, changed)
        )
        if isinstance(intent, NoGoal):
            return intent
        intents.append(intent)
    if config.variant == "train" and composed(intents):
        return NoGoal("held_out_composition")
    if not _is_all(intents, base, changed):
        return NoGoal("unasked_change")
    return _draft(window, config, base, spoken(Random(name), config, base, customer_id, intents))


def _customer(window: Window, base: BaseWorld, walk: Sequence[Exchange]) -> str | NoGoal:
    """The one account that was verified and whose matters these are; no goal where the policy was
    broken.
    """
    events = event_log(walk)
    verified = {
        str(event.result["customer_id"]): len(event.result["verified"])
        for event in events
        if event.kind == "call" and event.tool == "verify_identity"
    }
    accounts = [key for key, factors in verified.items() if factors >= NEEDED_FACTORS]
    own = [
        key
        for account in accounts[:1]
        for key in base.customers_by["name"][base.customers[account]["name"]]
    ]
    heard = "\n".join(seen.content for seen in window.opening.observations)
    rules = [rule for rule in PROCESS if rule not in OF_THE_SCRIPT]
    turns = {operation.at for operation in window.operations}
    for breach in breaches(rules, EpisodeView(events, base, frozenset(own), heard)):
        if breach.turn in turns:
            return NoGoal(f"policy_breach:{breach.rule}")
    return accounts[0] if len(accounts) == 1 else NoGoal("not_one_customer")


def _on_request(intents: Sequence[Intent]) -> tuple[str, ...]:
    return NOTES if any(intent.request.kind == "note" for intent in intents) else ()


def _is_all(intents: Sequence[Intent], base: BaseWorld, changed: Facts) -> bool:
    """Whether the requests ask for every change, and for no other."""
    required, free, *_ = asked(intents)
    on_request = _on_request(intents)
    always = tuple(path for path in ALWAYS_FREE if path not in on_request)
    return evaluate(Check(required=required, free=always + free), base, changed, ()).passed


def _draft(window: Window, config: StorefrontConfig, base: BaseWorld, said: Spoken) -> Draft:
    _, free, told, refusals = asked(said.intents)
    return Draft(
        goal=said.opening,
        low_level=tuple(instruction(operation) for operation in window.operations),
        structure=structure(said.intents),
        script=plain_script(said.script),
        env_config=settings_of_world(config, config.world_seed or 0, config.facts),
        told=told,
        refusals=refusals,
        process=process_of(config, base),
        free=free,
        asked=_on_request(said.intents),
        answer=answer(told),
    )
