"""Requests whose words leave something open among several: which order, which item of it, which
address, which card.
"""

from dataclasses import replace

from synth.envs.storefront.customer.script import KINDS
from synth.envs.storefront.tasks.intents import Draw, Intent, Slot, Subject
from synth.envs.storefront.tasks.referent import namesakes, orders_with
from synth.envs.storefront.tasks.wording import to_card, worded
from synth.envs.storefront.world.policy import STORE_CREDIT
from synth.envs.storefront.world.views import cards_of, cents_of, item_of

SLOTS: tuple[Slot, ...] = ("order", "order", "item", "address", "payment")
"""As often as each is tried first."""
FIRST_KEPT = 0.4
"""Of the tasks in which the first of two that fit is the one that is meant, so many are kept, of k
that fit one (k-1)th of that: taking the first of k must be right no more than one time in k, though
new orders, which stand first, can be changed more often than old ones.
"""


def draw_ambiguous(draw: Draw) -> Subject | None:
    """A request of the customer whose words fit as many as the setting asks for; None where they
    have none.
    """
    # a slot that stands there twice is likely to come first
    for slot in dict.fromkeys(draw.rng.sample(SLOTS, len(SLOTS))):
        at = replace(draw, slot=slot)

        for order in draw.mine(
            "pending",
            "processing",
            "shipped",
            "delivered",
        ):
            calls = at.feasible(order["order_id"])
            kinds = [kind for kind in calls if slot in KINDS[kind]["open"]]

            if kinds:
                call = draw.rng.choice(calls[draw.rng.choice(kinds)])
                intent = open_among_several(
                    at,
                    slot,
                    with_open_card(at, worded(at, call)),
                )

                if intent is not None:
                    return Subject(draw.base, (intent,))

    return None


def with_open_card(
    draw: Draw,
    intent: Intent,
) -> Intent:
    """The request with the card left open, where that is the slot: the one that was paid with, or
    one that is refused by R5, where something may be.
    """
    tool, made = intent.calls[-1]

    if draw.slot != "payment" or made.get("to") == STORE_CREDIT or tool != "issue_refund":
        return intent

    paid_with = draw.base.orders[made["order_id"]]["payment_id"]
    cards = list(cards_of(draw.file).values())
    may_refuse = draw.config.mix.refused and "R5" in draw.base.rules.in_force

    # where every card is right nothing is asked, and the words are not open
    if paid_with not in cards or not may_refuse:
        return intent

    meant = draw.rng.choice(cards)
    asked = to_card(draw, intent, meant, is_open=True)

    if meant == paid_with:
        return asked

    return asked.denied("R5", made["order_id"]).complicated("ineligible_R5")


def open_among_several(
    draw: Draw,
    slot: Slot,
    intent: Intent,
) -> Intent | None:
    """The request as an ambiguous one; None where its words fit too few or too many, or where the
    first that fits is right too often.
    """
    referent = intent.referent
    low, high = draw.config.ambiguity

    if referent is None or not low <= referent.candidates <= high:
        return None

    fitting, meant = _fitting(draw, slot, intent)
    share = FIRST_KEPT / (referent.candidates - 1)

    # two that come to the same are no choice
    if fitting.count(meant) > 1 or (fitting[0] == meant and draw.rng.random() >= share):
        return None

    return intent.complicated("ambiguous", f"ambiguous_{slot}")


def _fitting(
    draw: Draw,
    slot: Slot,
    intent: Intent,
) -> tuple[list[object], object]:
    """What fits the words, as an agent finds it, and what is meant; who takes another that comes to
    the same is right.
    """
    referent = intent.referent
    request = intent.request
    assert referent is not None
    order = draw.base.orders[referent.order_id]

    if slot == "order":
        return list(orders_with(draw, item_of(referent.line))), referent.order_id

    if slot == "item":
        alike = namesakes(order, referent.line)
        # a quote of another line may be the same amount
        of_money = request.kind == "refund_query"
        values = [cents_of(order, [line]) if of_money else line["line"] for line in alike]

        return values, values[alike.index(referent.line)]

    if slot == "address":
        rows = [row for row in draw.file["addresses"] if row["address_id"] != order["address_id"]]
        (meant,) = {made["address_id"] for _, made in intent.calls}

        return [row["address_id"] for row in rows if row["city"] == request.wanted], meant

    cards = cards_of(draw.file)

    # all cards that R5 forbids come to the same
    if intent.refusals:
        return [key != order["payment_id"] for key in cards.values()], True

    return list(cards), intent.details["card"]
