"""Requests that a customer puts another one in place of, or takes back."""

from dataclasses import replace

from msgspec import structs

from synth.envs.storefront.customer.script import KINDS, Revision
from synth.envs.storefront.tasks.requests.entity_resolution import WORDS
from synth.envs.storefront.tasks.requests.user_intents import Draw, Intent
from synth.envs.storefront.tasks.requests.wording import feasible, worded
from synth.envs.storefront.world.policy import Call

WITHDRAWN_SHARE = 0.25
UNASKED_SHARE = 0.5
UNASKED_TURNS = (6, 24)
"""Turns in which a change of mind may be said without being asked, the last one left out."""


def with_change_of_mind(draw: Draw, intent: Intent, *, may_withdraw: bool) -> Intent:
    """The same request with another one put in its place, or taken back; as it is where there is
    no other.
    """
    request = intent.request

    if may_withdraw and draw.rng.random() < WITHDRAWN_SHARE:
        text = WORDS["withdrawn"].format(number=request.number)
        gone = Revision(request.number, text, turn=_turn(draw))

        nothing = replace(
            intent,
            calls=(),
            told=(),
            free=(),
            revisions=(gone,),
        )

        return nothing.complicated("change_of_mind", "withdrawn")

    # another wish needs the same order, and something that can be wished otherwise
    if intent.referent is None or (request.wanted is None and request.kind != "cancel"):
        return intent

    # the second wish speaks of the same order, and leaves nothing out
    again = replace(
        draw.with_all_said(),
        referent=intent.referent,
        tell=request.tell_total,
    )

    kind = KINDS[request.kind].get("now", "")
    possible = feasible(again, intent.referent.order_id)
    others = [call for call in possible.get(kind, []) if is_other(intent.calls[0], call)]

    return (
        revised(
            draw,
            intent,
            worded(again, draw.rng.choice(others)),
        )
        if others
        else intent
    )


def is_other(call: Call, other: Call) -> bool:
    """Whether the second call does something else instead of the first, with the same line."""
    lines = call[1].get("lines", {})
    others = other[1].get("lines", {})

    return call != other and list(lines) == list(others)


def revised(draw: Draw, first: Intent, final: Intent) -> Intent:
    """The final request, which the customer asks for only after the first: when they are asked to
    confirm that one, or in a turn of their own choice before.
    """
    number = first.request.number
    request = final.request
    words = WORDS["changes"][request.kind].format(number=number, wanted=request.wanted)

    revision = Revision(
        number,
        words,
        structs.replace(request, text=words),
        _turn(draw),
    )

    # who is told of the change has the first wish's details and the second's calls
    changed = replace(
        first,
        calls=final.calls,
        told=final.told,
        free=final.free,
    )

    return replace(changed, revisions=(revision,)).complicated("change_of_mind")


def _turn(draw: Draw) -> int:
    """The turn in which a change of mind is said unasked; 0: when it is asked about."""
    return draw.rng.randrange(*UNASKED_TURNS) if draw.rng.random() < UNASKED_SHARE else 0
