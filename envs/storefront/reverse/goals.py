"""What a customer would have asked for, had a stretch of an exploration been done for them: the
storefront's `WriteGoal`.
"""

from collections.abc import Sequence
from random import Random

from synth.envs.storefront.check.case import Case
from synth.envs.storefront.check.check import evaluate
from synth.envs.storefront.check.process import PROCESS, breaches
from synth.envs.storefront.env import world_of
from synth.envs.storefront.reverse.matters import Matter, matters
from synth.envs.storefront.reverse.notes import NOTES, note
from synth.envs.storefront.reverse.questions import answer, question
from synth.envs.storefront.reverse.refusals import denied_wish
from synth.envs.storefront.reverse.wishes import wish
from synth.envs.storefront.reverse.wording import instruction, structure
from synth.envs.storefront.tasks.goals import (
    ALWAYS_FREE,
    plain_script,
    process_of,
    settings_of_world,
)
from synth.envs.storefront.tasks.intents import Intent
from synth.envs.storefront.tasks.plots import HELD_OUT_COMPOSITIONS
from synth.envs.storefront.tasks.speech import spoken
from synth.envs.storefront.tools.event_log import event_log
from synth.envs.storefront.tools.transcript import Exchange, exchanged
from synth.envs.storefront.world.config import StorefrontConfig, validated
from synth.envs.storefront.world.rules import NEEDED_FACTORS
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.canonical import content_hash
from synth.schemas.check import Check, Facts
from synth.schemas.reverse import Draft, NoGoal, Operation, Window

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
    base = world_of(config)
    walk = exchanged(window.walk)
    customer_id = _customer(window, base, walk)
    if isinstance(customer_id, NoGoal):
        return customer_id
    found = _wanted(window, walk)
    if isinstance(found, NoGoal):
        return found
    if len(found) > MOST_REQUESTS:
        return NoGoal("too_many_requests")
    changed = {
        path: value
        for path, value in window.end.items()
        if path not in window.start or window.start[path] != value
    }
    name = f"storefront/reverse/{content_hash([base.seed, window.seed, [operation.turn for operation in window.operations]])}"
    intents: list[Intent] = []
    for number, matter in enumerate(found, start=1):
        if isinstance(matter, Operation):
            intent = question(matter, walk, f"{name}/{number}", number, config, base, customer_id)
        else:
            intent = _intent(matter, f"{name}/{number}", number, config, base, customer_id, changed)
        if isinstance(intent, NoGoal):
            return intent
        intents.append(intent)
    kinds = {intent.request.kind for intent in intents}
    if config.variant == "train" and any(
        composition <= kinds for composition in HELD_OUT_COMPOSITIONS
    ):
        return NoGoal("held_out_composition")
    return (
        _draft(window, name, config, base, customer_id, intents)
        if _is_all(intents, base, changed)
        else NoGoal("unasked_change")
    )


def _wanted(window: Window, walk: Sequence[Exchange]) -> Sequence[Matter | Operation] | NoGoal:
    """What each request is about: one look-up, or what was written on one order."""
    if all(operation.shown is not None for operation in window.operations):
        return window.operations
    return matters(window.operations, walk)


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
    accounts = [
        customer_id for customer_id, factors in verified.items() if factors >= NEEDED_FACTORS
    ]
    speaker = base.tables["customers"][accounts[0]]["name"] if accounts else None
    own = frozenset(base.customers_by["name"][speaker]) if speaker is not None else frozenset[str]()
    case = Case(events, base, own, "\n".join(seen.content for seen in window.opening.observations))
    turns = {operation.at for operation in window.operations}
    broken = next(
        (
            b.rule
            for b in breaches([r for r in PROCESS if r not in OF_THE_SCRIPT], case)
            if b.turn in turns
        ),
        None,
    )
    if broken is not None:
        return NoGoal(f"policy_breach:{broken}")
    return accounts[0] if len(accounts) == 1 else NoGoal("not_one_customer")


def _intent(
    matter: Matter,
    name: str,
    number: int,
    config: StorefrontConfig,
    base: BaseWorld,
    customer_id: str,
    changed: Facts,
) -> Intent | NoGoal:
    if matter.ticket_id is not None:
        return note(matter, name, number, config, base, customer_id)
    if matter.rule is not None:
        return denied_wish(matter, name, number, config, base, customer_id)
    return wish(matter, name, number, config, base, customer_id, changed)


def _is_all(intents: Sequence[Intent], base: BaseWorld, changed: Facts) -> bool:
    """Whether the requests ask for every change, and for no other."""
    required = tuple(row for intent in intents for row in intent.required)
    asked = NOTES if any(intent.request.kind == "note" for intent in intents) else ()
    free = (
        *(path for path in ALWAYS_FREE if path not in asked),
        *(path for intent in intents for path in intent.free),
    )
    return evaluate(Check(required=required, free=free), base, changed, ()).passed


def _draft(
    window: Window,
    name: str,
    config: StorefrontConfig,
    base: BaseWorld,
    customer_id: str,
    intents: Sequence[Intent],
) -> Draft:
    said, script, goal = spoken(Random(name), config, base, customer_id, intents)
    return Draft(
        goal=goal,
        low_level=tuple(instruction(operation) for operation in window.operations),
        structure=structure(intents),
        script=plain_script(script),
        env_config=settings_of_world(
            config, config.world_seed or 0, dict(sorted(config.facts.items()))
        ),
        told=tuple(fact for intent in said for fact in intent.told),
        refusals=tuple(refusal for intent in said for refusal in intent.refusals),
        process=process_of(config, base),
        free=tuple(dict.fromkeys(path for intent in said for path in intent.free)),
        asked=NOTES if any(intent.request.kind == "note" for intent in said) else (),
        answer=answer(said),
    )
