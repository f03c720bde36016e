"""What a customer would have asked for, had a stretch of an exploration been done for them: the
storefront's `WriteGoal`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import msgspec

from synth.envs.fact_pattern import matches
from synth.envs.storefront.check.episode_view import EpisodeView
from synth.envs.storefront.check.process import PROCESS, breaches
from synth.envs.storefront.customer.script import KINDS
from synth.envs.storefront.reverse.asked import NoGoalError, Topic, intent_of, question, topics
from synth.envs.storefront.tasks.compiled import (
    ALWAYS_FREE,
    after,
    asked_of,
    opening_of,
    plain_script,
    script_of,
    settings_of_world,
    stated,
)
from synth.envs.storefront.tasks.intents import Draw, Intent
from synth.envs.storefront.tasks.scenarios import composed
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.transcript import Event, event_log, exchanged
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.policy import NEEDED_FACTORS
from synth.envs.storefront.world.world import BaseWorld, world_of
from synth.schemas import (
    AgentTurn,
    Draft,
    NoGoal,
    Operation,
    Tell,
    ToolCall,
    Window,
    canonical_json,
    content_hash,
)

NOTES = ("notes/*/*",)
"""The free facts that a goal is about where it asks for a note."""
LOOK_UPS = frozenset(row["tool"] for row in KINDS.values() if "answers" in row)
"""Tools whose answer a customer can ask for."""
MOST_REQUESTS = 6
OF_THE_SCRIPT = frozenset({"R13"})
"""Rules that ask what the customer wants: in an exploration they want nothing."""
_OF_ALL = ("number", "kind", "text", "given")
"""What every request has, and says nothing about its structure."""
_TOLD_AS = {"money": "refund", "date": "arrival", "status": "parcel_status"}
_INSTRUCTIONS: Mapping[str, str] = texts("exploring")["instructions"]


def write_goal(window: Window) -> Draft | NoGoal:
    """The goal of a window as template tasks have it: requests in the customer's words, and what
    they know.

    No goal where the walk broke the policy in it, where it does or undoes half a thing, where no
    words of the goal grammar ask for it, and where what is asked for together is held out of
    training.
    """
    try:
        return _draft(window)
    except NoGoalError as none:
        return NoGoal(str(none))


def _draft(window: Window) -> Draft:
    """The draft of a task for a window. Raises `NoGoalError`."""
    # the whole walk is read: what was found out before the window counts, too
    config = validated(window.env_config, "window.env_config")
    base = world_of(config)
    events = event_log(exchanged(window.walk))
    customer_id = _customer(window, base, events)
    turns = [operation.turn for operation in window.operations]
    # the same window gives the same goal, however often and in whatever order goals are written
    name = f"storefront/reverse/{content_hash([base.seed, window.seed, turns])}"
    draw = Draw(Random(name), config, base, 0, customer_id)
    intents = _intents(draw, _asked(window, events), name)

    # what stands together in no template task of train must not come in by an exploration
    if config.variant == "train" and composed(intents):
        raise NoGoalError("held_out_composition")

    on_request = NOTES if any(intent.request.kind == "note" for intent in intents) else ()
    said = stated(draw, intents)
    asked = asked_of(draw, said)
    _played(base, intents, window, {*ALWAYS_FREE, *asked["free"]} - {*on_request})
    script = script_of(draw, said)

    return Draft(
        goal=opening_of(script),
        low_level=tuple(map(_instructed, window.operations)),
        structure=" + ".join(sorted(map(_shape, said))),
        script=plain_script(script),
        env_config=settings_of_world(config, config.world_seed, config.facts),
        asked=on_request,
        answer=_answer(asked["told"]),
        **asked,
    )


def _played(
    base: BaseWorld, intents: Sequence[Intent], window: Window, free: Collection[str]
) -> None:
    """Plays the requests from the start, and compares what they make of it with the window's end.
    Raises `NoGoalError` where something differs that is not free.
    """
    done = after(base, [call for intent in intents for call in intent.calls]).facts()

    for path in {*done, *window.end}:
        as_asked = done.get(path) == window.end.get(path)

        if not as_asked and not any(matches(pattern, path) for pattern in free):
            raise NoGoalError("unasked_change")


def _intents(
    draw: Draw,
    asked: Sequence[Topic | Event],
    name: str,
) -> list[Intent]:
    """A request for each topic, or for each look-up, in words."""
    if len(asked) > MOST_REQUESTS:
        raise NoGoalError("too_many_requests")

    intents: list[Intent] = []

    # every request draws from its own stream: one more or less changes no other's words
    for number, what in enumerate(asked, start=1):
        at = replace(draw, number=number)
        of = f"{name}/{number}"
        intents.append(
            intent_of(
                what,
                at,
                of,
            )
            if isinstance(what, Topic)
            else question(what, at, of)
        )

    return intents


def _customer(
    window: Window,
    base: BaseWorld,
    events: Sequence[Event],
) -> str:
    """The one account that was verified and whose matters these are. Raises `NoGoalError` where
    there is none, and where the policy was broken.
    """
    verified = {
        event.result["customer_id"]: len(event.result["verified"])
        for event in events
        if event.kind == "call" and event.tool == "verify_identity"
    }

    # two accounts of one name are one person, as the check sees it
    accounts = [key for key, factors in verified.items() if factors >= NEEDED_FACTORS]
    names = [base.row("customers", account)["name"] for account in accounts[:1]]
    own = frozenset(key for name in names for key in base.customers_by["name"][name])
    heard = "\n".join(seen.content for seen in window.opening.observations)
    rules = [rule for rule in PROCESS if rule not in OF_THE_SCRIPT]
    turns = {operation.at for operation in window.operations}

    # what was broken before the window, or after it, does not concern this goal
    for breach in breaches(
        rules,
        EpisodeView(
            events,
            base,
            own,
            heard,
        ),
    ):
        if breach.turn in turns:
            raise NoGoalError(f"policy_breach:{breach.rule}")

    if len(accounts) != 1:
        raise NoGoalError("not_one_customer")

    return str(accounts[0])


def _asked(
    window: Window,
    events: Sequence[Event],
) -> Sequence[Topic | Event]:
    """What the requests are about: the topics of writes, or the look-ups of a window of these."""
    if any(operation.shown is None for operation in window.operations):
        return topics(window.operations, events)

    looks = [
        [event for event in events if event.turn == operation.at and event.tool in LOOK_UPS]
        for operation in window.operations
    ]

    if any(len(found) != 1 for found in looks):
        raise NoGoalError("not_a_question")

    return [found[0] for found in looks]


def _instructed(operation: Operation) -> str:
    """What is done in a turn, and the rule by which it is refused."""
    done = " ".join(map(_instruction, operation.turn.tool_calls)) or "Speak to the customer."

    return done if operation.denied is None else f"{done} It is refused by {operation.denied}."


def _instruction(call: ToolCall) -> str:
    """A call in words."""
    shown = {name: _shown(value) for name, value in call.parsed().items()}

    return _INSTRUCTIONS.get(call.name, f"Call {call.name}.").format(**shown)


def _shown(value: Any) -> str:
    """An argument in words: lists and mappings as their entries."""
    if isinstance(value, Mapping):
        return ", ".join(f"line {key} for {entry}" for key, entry in value.items())

    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _shape(intent: Intent) -> str:
    """A request with its entities masked: what its words say of order and item, under which
    condition, what is left to be asked, which rule forbids it, and what complicates it.
    """
    request = intent.request
    # an order's date is known of every order that was described, and asked for only among several
    among = "ambiguous_order" in intent.complications

    return " ".join(
        [
            request.kind,
            *(f"<{name}>" for name in msgspec.to_builtins(request) if name not in _OF_ALL),
            *([] if request.condition is None else [request.condition]),
            *sorted(field for field in intent.details if field != "order" or among),
            *(
                f"refused {refusal.rule} by {str(refusal.evidence).partition('-')[0]}"
                for refusal in intent.refusals
            ),
            *intent.complications,
        ]
    )


def _answer(told: Sequence[Tell]) -> AgentTurn:
    """All that is to be told, as an agent would tell it: amounts in dollars."""
    calls = []

    for at, fact in enumerate(told):
        # a check holds cents, a customer is told dollars
        value = fact.value / 100 if isinstance(fact.value, int) else fact.value
        made = canonical_json({"about": fact.about, _TOLD_AS[fact.type]: value})
        calls.append(
            ToolCall(
                f"told_{at}",
                "tell_customer",
                made.decode(),
            )
        )

    return AgentTurn(tool_calls=tuple(calls))
