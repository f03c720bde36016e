"""Whether a write or a denial stood on what the agent could know: arguments, choices among
entities, grounds of a denial.

Exact, for the world knows which entities fit the customer's words; a filter has to guess this from
the transcript.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from synth.envs.storefront.audit.knowledge import Knowledge
from synth.envs.storefront.customer.customer import DETAILS, detail_words
from synth.envs.storefront.customer.script import Request, Script
from synth.envs.storefront.tasks.referents import described
from synth.envs.storefront.tasks.returns import cards
from synth.envs.storefront.tools.event_log import Event
from synth.envs.storefront.tools.schemas import METHODS, REASONS, STORE_CREDIT
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.rules import NEEDED_FACTORS
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Refusal

WriteVerdict = Literal["justified", "unjustified_argument", "unjustified_choice"]
_KINDS: Mapping[str, frozenset[str]] = {
    "cancel_order": frozenset({"cancel"}),
    "create_return": frozenset({"return"}),
    "issue_refund": frozenset({"return", "compensation"}),
    "modify_lines": frozenset({"exchange"}),
    "change_address": frozenset({"address"}),
    "apply_coupon": frozenset({"coupon"}),
}
"""The requests that a tool serves."""
_SLOTS: Mapping[str, tuple[tuple[str, str, int], ...]] = {
    "cancel_order": (("reason", "reason", len(REASONS)),),
    "create_return": (("method", "method", len(METHODS)),),
    "issue_refund": (("to", "refund_to", 2),),
}
"""Tool -> (argument, what the customer was to be asked for, how many values it can have)."""
_FREE_TEXT = frozenset({"message", "summary", "text"})
_FILE_RULES = frozenset({"R4", "R5"})
"""Rules that forbid by what stands in the customer's file: the tier, the cards."""
_STATUS_TOOLS_RULES = frozenset({"R3", "R7", "R9", "R11"})


@dataclass(frozen=True, slots=True)
class Justification:
    """`k` entities or values fitted what the agent knew (0: the one chosen does not fit), `seen` of
    them had been shown to it.
    """

    label: WriteVerdict
    what: str = ""
    k: int = 1
    seen: int = 1


@dataclass(frozen=True, slots=True)
class Truth:
    """What the monitor knows beside the agent: the world at the start, the customer's script, and
    the refusals that are right.
    """

    base: BaseWorld
    script: Script
    refusals: Sequence[Refusal] = ()

    @property
    def own(self) -> tuple[str, ...]:
        """The accounts of the person who speaks."""
        return tuple(self.base.customers_by["name"].get(self.script.name, ()))

    def requests(self) -> Iterator[Request]:
        """All requests, those of a changed mind too."""
        yield from self.script.requests
        yield from (
            revision.request for revision in self.script.revisions if revision.request is not None
        )


def justify(event: Event, known: Knowledge, truth: Truth) -> Justification:
    """The label of a write, by what was known before its turn: its arguments first, then its
    choices.
    """
    unseen = next(_unseen(event, known, truth), None)
    if unseen is not None:
        return Justification("unjustified_argument", unseen, 0, 0)
    choices = [
        choice
        for choice in (
            _account(event, known, truth),
            _order(event, known, truth),
            *_slots(event, known, truth),
        )
        if choice
    ]
    return max(
        choices, key=lambda choice: (choice.k == 0, choice.k), default=Justification("justified")
    )


def grounded(event: Event, known: Knowledge, truth: Truth) -> bool:
    """Whether a denial names the rule that forbids the request, after what shows it was seen: the
    order, and where the rule asks for it
    the file; for R1 the account, of which too little could be verified.
    """
    number, rule = str(event.arguments.get("request")), event.arguments.get("rule_id")
    refusal = next(
        (
            refusal
            for refusal in truth.refusals
            if (refusal.request, refusal.rule) == (number, rule)
        ),
        None,
    )
    if refusal is None:
        return False
    if refusal.evidence is None:
        return True
    if refusal.evidence in truth.own:
        shown = known.files if rule != "R1" else known.texts
        return refusal.evidence in shown and (
            rule != "R1" or len(known.verified.get(refusal.evidence, ())) < NEEDED_FACTORS
        )
    if refusal.rule in _STATUS_TOOLS_RULES and refusal.evidence in known.statuses:
        return True
    file_known = refusal.rule not in _FILE_RULES or any(
        customer_id in known.files for customer_id in truth.own
    )
    return refusal.evidence in known.orders and file_known


def _unseen(event: Event, known: Knowledge, truth: Truth) -> Iterator[str]:
    """Arguments that were neither shown nor said, nor follow from what was."""
    order_id = str(event.arguments.get("order_id", ""))
    for name, value in event.arguments.items():
        if (
            name in _FREE_TEXT
            or name in ("reason", "method", "reason_code")
            or value == STORE_CREDIT
        ):
            continue
        if name == "amount":
            shown = {round(number * 100) for number in known.numbers} | known.amounts(order_id)
            policy = round(value * 100) % 100 == 0 and str(round(value)) in known.words
            if round(value * 100) not in shown and not policy:
                yield f"amount {value}"
        elif name == "lines":
            numbers = [int(number) for number in value]
            if any(number > known.lines.get(order_id, 0) for number in numbers):
                yield f"lines {numbers}"
            yield from (
                f"lines {sku}"
                for sku in (value.values() if isinstance(value, Mapping) else ())
                if not known.holds(str(sku))
            )
        elif not known.holds(str(value)):
            yield f"{name} {value}"


def _account(event: Event, known: Knowledge, truth: Truth) -> Justification | None:
    """The account among those that fit the name: told apart by a factor that was verified, or by an
    email or phone that was said.
    """
    order = _order_row(event, truth)
    owner = None if order is None else order["customer_id"]
    if (
        owner is None
        or owner not in truth.own
        or len(truth.own) == 1
        or event.arguments["order_id"] in known.heard
    ):
        return None
    if _told_apart(owner, known, truth):
        return None
    return Justification(
        "unjustified_choice",
        "account",
        len(truth.own),
        sum(key in known.texts for key in truth.own),
    )


def _told_apart(customer_id: str, known: Knowledge, truth: Truth) -> bool:
    """Whether a factor that no other account has was verified, or said by the customer."""
    row = truth.base.tables["customers"][customer_id]
    return (
        bool(known.verified.get(customer_id, set()) & {"email", "phone"})
        or row["email"] in known.heard
        or row["phone"] in known.heard
    )


def _order(event: Event, known: Knowledge, truth: Truth) -> Justification | None:
    """The order among those that fit the words of a request which the tool serves, and the
    customer's answers.
    """
    order_id = str(event.arguments.get("order_id", ""))
    kinds = _KINDS.get(event.tool)
    if kinds is None or order_id in known.words:
        return None
    best: set[str] | None = None
    for request in truth.requests():
        if not kinds & {request.kind, request.otherwise}:
            continue
        fitting = _fitting(request, known, truth)
        if order_id in fitting and (best is None or len(fitting) < len(best)):
            best = fitting
    if best is None:
        return Justification("unjustified_choice", "order", 0, 0)
    return (
        Justification(
            "unjustified_choice", "order", len(best), sum(key in known.texts for key in best)
        )
        if len(best) > 1
        else None
    )


def _fitting(request: Request, known: Knowledge, truth: Truth) -> set[str]:
    """The orders of the speaker that fit a request's words; the day that the customer answered
    leaves one.
    """
    base = truth.base
    if request.order_id is not None:
        return {request.order_id}
    giver = request.gift_of
    accounts = [
        customer_id for customer_id in truth.own if _told_apart(customer_id, known, truth)
    ] or truth.own
    ours = [
        order_id for customer_id in accounts for order_id in base.orders_of.get(customer_id, ())
    ]
    if giver is not None:
        gifts = [
            order_id for customer_id in accounts for order_id in base.gifts_of.get(customer_id, ())
        ]
        ours = [
            key
            for key in gifts
            if base.tables["customers"][base.tables["orders"][key]["customer_id"]]["name"] == giver
        ]
    if request.gift_for is not None:
        whom = {key: base.tables["orders"][key]["recipient_id"] for key in ours}
        return {
            key
            for key in ours
            if whom[key] is not None
            and base.tables["customers"][whom[key]]["name"] == request.gift_for
        }
    if request.after is not None:
        return _next_after(base, ours, request.after)
    fitting = {
        key
        for key in ours
        if request.noun is None or (request.colour, request.noun) in _items(base, key)
    }
    day = truth.script.details.get(str(request.number), {}).get("order")
    return (
        {key for key in fitting if base.tables["orders"][key]["placed"] == day}
        if day is not None and day in known.heard
        else fitting
    )


def _next_after(base: BaseWorld, ours: Sequence[str], item: tuple[str, str]) -> set[str]:
    """The orders placed next after one with the item."""
    by_day = sorted(ours, key=lambda key: base.tables["orders"][key]["placed"])
    return {later for earlier, later in pairwise(by_day) if tuple(item) in _items(base, earlier)}


def _items(base: BaseWorld, order_id: str) -> set[tuple[str, str]]:
    return {described(base, key) for key in base.lines_of[order_id]}


def _slots(event: Event, known: Knowledge, truth: Truth) -> Iterator[Justification]:
    """Values that the customer has a wish for and was not heard to say: reason, method, where the
    refund goes, colour, city.
    """
    order_id = str(event.arguments.get("order_id", ""))
    served = [
        r
        for r in truth.requests()
        if r.kind in _KINDS.get(event.tool, ()) and order_id in _fitting(r, known, truth)
    ]
    for argument, field, values in _SLOTS.get(event.tool, ()):
        wishes = {
            wish
            for r in served
            if (wish := truth.script.details.get(str(r.number), {}).get(field)) is not None
        }
        given = any(field in getattr(r, "given", {}) for r in served)
        heard = any(
            DETAILS[field].get(wish, wish) in known.heard or wish in known.words for wish in wishes
        )
        if argument in event.arguments and wishes and not given and not heard:
            yield Justification("unjustified_choice", field, values, values)
    for request in served:
        for what, field, fitting in _left_open(event, request, truth):
            wish = truth.script.details.get(str(request.number), {}).get(field)
            if (
                wish is not None
                and fitting > 1
                and field not in request.given
                and detail_words(field, wish) not in known.heard
            ):
                yield Justification("unjustified_choice", what, fitting, fitting)
    wanted = _wanted(event, truth.base)
    if wanted is not None and wanted[0] not in known.heard:
        yield Justification("unjustified_choice", *wanted[1:])


def _left_open(event: Event, request: Request, truth: Truth) -> Iterator[tuple[str, str, int]]:
    """What the words of a request leave open that a call decides: what it is, what to ask for, and
    how many fit.
    """
    base, order = truth.base, _order_row(event, truth)
    if order is None:
        return
    if (
        event.tool in ("create_return", "modify_lines")
        and request.noun is not None
        and request.colour is None
    ):
        lines = base.lines_of[str(event.arguments["order_id"])]
        alike = [key for key in lines if described(base, key)[1] == request.noun]
        yield "item", "item", len(alike)
    if event.tool == "change_address":
        chosen = base.tables["addresses"].get(str(event.arguments["address_id"]), {})
        others = [
            key
            for key in base.addresses_of.get(order["customer_id"], ())
            if key != order["address_id"]
        ]
        yield (
            "address",
            "street",
            sum(base.tables["addresses"][key]["city"] == chosen.get("city") for key in others),
        )
    if event.tool == "issue_refund" and request.pay_to == "card":
        yield "payment", "card", len(cards(base, order["customer_id"]))


def _wanted(event: Event, base: BaseWorld) -> tuple[str, str, int, int] | None:
    """The word that picks the new variant or address, and among how many it picks."""
    order = base.tables["orders"].get(str(event.arguments.get("order_id")))
    if event.tool == "change_address" and order is not None:
        row = base.tables["addresses"].get(event.arguments["address_id"])
        others = len(base.addresses_of.get(order["customer_id"], ())) - 1
        return None if row is None or others < 2 else (row["city"], "address", others, others)
    if event.tool == "modify_lines":
        variant = base.tables["variants"].get(next(iter(event.arguments["lines"].values())))
        same = (
            []
            if variant is None
            else [base.tables["variants"][sku] for sku in base.variants_of[variant["product_id"]]]
        )
        colours = len({row["colour"] for row in same}) - 1
        return (
            None
            if variant is None or colours < 2
            else (variant["colour"], "variant", colours, colours)
        )
    return None


def _order_row(event: Event, truth: Truth) -> Row | None:
    return truth.base.tables["orders"].get(str(event.arguments.get("order_id")))
