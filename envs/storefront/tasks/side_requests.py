"""The requests beside the one that a task is about: on other orders, so that none disturbs another;
some of them the customer changes, or takes back.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from msgspec import structs

from synth.envs.storefront.customer.script import KINDS, Revision
from synth.envs.storefront.tasks.intents import WORDS, Draw, Intent, Subject
from synth.envs.storefront.tasks.wording import worded
from synth.envs.storefront.world.policy import Call

OUT_OF_SCOPE_SHARE = 0.06
GIFT_SHARE = 0.35
PRICE_SHARE = 0.08
WITHDRAWN_SHARE = 0.25
UNASKED_SHARE = 0.5
UNASKED_TURNS = (6, 24)
"""Turns in which a change of mind may be said without being asked, the last one left out."""
CHANGEABLE = frozenset(kind for kind, row in KINDS.items() if "now" in row)
WITHDRAWABLE = CHANGEABLE | {"return", "compensation"}


def all_requests(draw: Draw, operations: int, subject: Subject) -> tuple[Intent, ...] | None:
    """All requests in their order: the one that the task is about, and feasible ones of other kinds
    on other orders; None where there are too few.

    Where the customer cannot be verified there is nothing special among them, and as in a steady
    task nobody changes their mind.
    """
    own = next(iter(subject.sides), None)
    plain = bool(subject.known)
    # no second request of the subject's kind: which of the two is meant would have to be told
    kind = own.request.kind if own is not None and not plain else ""
    free = _free_orders(draw, own)
    intents: list[Intent] = []
    prices = 0

    for number in range(1, operations + 1):
        at = replace(draw, number=number)

        if own is not None and number == own.request.number:
            intents.append(own)
            continue

        # a price is asked of nothing that another request is about
        spoken_of = {other.request.noun for other in (*intents, own) if other is not None}
        intent = None if plain else _special(at, intents, kind)

        if intent is None and draw.rng.random() < PRICE_SHARE:
            intent = price_query(at, spoken_of)

        if intent is None:
            intent = _about_next(at, free, kind)

            if intent is not None and not plain and not subject.steady:
                intent = _reconsidered(at, intent, intents, operations)

        if intent is None:
            prices += 1
            intent = price_query(at, spoken_of)

        intents.append(intent)

    # prices are filled in where orders run out, and are no task by themselves
    return tuple(intents) if prices <= max(1, operations // 3) else None


def _free_orders(
    draw: Draw,
    own: Intent | None,
) -> list[str]:
    """The customer's orders that the task's own request does not touch, in a drawn order."""
    taken = set[str | None]()

    if own is not None:
        taken = {made.get("order_id") for _, made in own.calls}
        taken |= {own.referent.order_id} if own.referent else set()
        taken |= {refusal.evidence for refusal in own.refusals}

    free = [order["order_id"] for order in draw.orders if order["order_id"] not in taken]
    draw.rng.shuffle(free)

    return free


def _about_next(
    draw: Draw,
    free: list[str],
    kind: str,
) -> Intent | None:
    """A request about the last of the free orders that allows one of another kind; all that were
    looked at are taken off the list.
    """
    while free:
        calls = draw.feasible(free.pop())
        # the subject alone is of its kind
        calls.pop(kind, None)

        if calls:
            # first the kind, then one of its calls: else returns, the most, crowd out the rest
            intent = worded(draw, draw.rng.choice(calls[draw.rng.choice(sorted(calls))]))
            is_gift = intent.request.gift_for is not None

            return intent.complicated(*["by_other_person"] * is_gift)

    return None


def price_query(
    draw: Draw,
    spoken_of: Collection[str | None] = (),
) -> Intent:
    """A question for a price, of no product that was spoken of."""
    skus = [
        variant["sku"]
        for noun, product in draw.base.products.items()
        for variant in product["variants"]
        if noun not in spoken_of
    ]

    return worded(draw, ("get_variant", {"sku": draw.rng.choice(sorted(skus))}))


def _special(
    draw: Draw,
    intents: Sequence[Intent],
    subject_kind: str,
) -> Intent | None:
    """Now and then a request that is somebody else's matter, or the return of a gift; of each no
    more than one, and no gift beside a return that the task is about.
    """
    names = {name for intent in intents for name in intent.complications}
    rules = draw.base.rules.in_force
    rng = draw.rng

    if rng.random() < OUT_OF_SCOPE_SHARE and "out_of_scope" not in names and "R13" in rules:
        made = {"reason_code": "out_of_scope", "summary": "It is somebody else's matter."}

        return worded(draw, ("escalate", made))

    returns = subject_kind == "return" or "by_other_person" in names

    if rng.random() >= GIFT_SHARE or returns or "R15" not in rules:
        return None

    gifts = draw.base.gifts_of.get(draw.customer_id, ())
    back = [call for key in gifts for call in draw.feasible(key).get("return", [])]
    # a gift is spoken of by its item: one line at a time
    single = [call for call in back if len(call[1]["lines"]) == 1]

    return worded(draw, rng.choice(single)) if single else None


def asks_first(draw: Draw) -> bool:
    """Whether the customer is asked before a write (R2)."""
    return draw.config.dialogue and "R2" in draw.base.rules.in_force


def _reconsidered(
    draw: Draw,
    intent: Intent,
    before: Sequence[Intent],
    operations: int,
) -> Intent:
    """Now and then a change of mind, where the customer is to be asked before a write: another
    request takes the place of this one, or it is taken back, one at most and never the only one.
    """
    request = intent.request
    changes = asks_first(draw) and draw.rng.random() < draw.config.changes_of_mind
    # two requests that are taken back leave little of a task
    others = [name for other in before for name in other.complications]
    may_withdraw = operations > 1 and "withdrawn" not in others

    if not changes or request.kind not in (WITHDRAWABLE if may_withdraw else CHANGEABLE):
        return intent

    if may_withdraw and draw.rng.random() < WITHDRAWN_SHARE:
        return _withdrawn(draw, intent)

    # another wish needs the same order, and something that can be wished otherwise
    if intent.referent is None or (request.wanted is None and request.kind != "cancel"):
        return intent

    again = _once_more(draw, intent)
    calls = instead_of(
        again,
        intent.calls[0],
        KINDS[request.kind].get("now", ""),
    )

    return _revised(draw, intent, worded(again, draw.rng.choice(calls))) if calls else intent


def _withdrawn(draw: Draw, intent: Intent) -> Intent:
    """The request as one that the customer takes back."""
    number = intent.request.number
    gone = Revision(number, WORDS["withdrawn"].format(number=number), turn=_turn(draw))
    nothing = replace(intent, calls=(), told=(), free=(), revisions=(gone,))

    return nothing.complicated("change_of_mind", "withdrawn")


def instead_of(
    draw: Draw,
    call: Call,
    kind: str,
) -> list[Call]:
    """The calls of a kind that could be wished for instead of one, about the same line."""
    return [
        other
        for other in draw.feasible(call[1]["order_id"]).get(kind, [])
        if call != other and list(call[1].get("lines", {})) == list(other[1].get("lines", {}))
    ]


def changed_to(
    draw: Draw,
    first: Call,
    final: Call,
) -> Intent:
    """The request for the first call, in whose place the customer then asks for the other."""
    intent = worded(draw, first)

    return _revised(
        draw,
        intent,
        worded(_once_more(draw, intent), final),
    )


def _once_more(
    draw: Draw,
    intent: Intent,
) -> Draw:
    """What a second wish is drawn from: it speaks of the same order, and leaves nothing out."""
    tell = intent.request.tell_total

    return replace(
        draw.with_all_said(),
        referent=intent.referent,
        tell=tell,
    )


def _revised(
    draw: Draw,
    first: Intent,
    final: Intent,
) -> Intent:
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
