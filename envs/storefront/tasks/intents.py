"""One request of a customer, compiled: words, what the customer knows, and the calls that serve
it; and what requests are drawn from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal

from msgspec import structs

from synth.envs.storefront.customer.customer import DETAILS
from synth.envs.storefront.customer.script import (
    KIND_OF,
    WANTED_FIELD,
    Kind,
    Request,
    Revision,
    ShopEvent,
)
from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.options import CustomerOptions
from synth.envs.storefront.world.policy import Call
from synth.envs.storefront.world.views import Item, Shown, item_of
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas import Refusal, Scalar, Tell

WORDS = texts("wordings")
Slot = Literal["order", "item", "address", "payment"]
"""What a customer's words may leave open among several."""


@dataclass(frozen=True, slots=True)
class Referent:
    """One order, and a line of it, as they are spoken of; `candidates` is how many orders, items,
    addresses or cards fit the words.
    """

    order_id: str
    line: Shown
    by_id: bool
    phrase: str
    item: str
    candidates: int = 1
    details: Mapping[str, str] = field(default_factory=dict)
    after: Item | None = None
    gift_of: str | None = None
    gift_for: str | None = None
    by_noun: bool = False

    @property
    def stands_alone(self) -> bool:
        """Whether the words for the order need no item."""
        return self.by_id or any((self.after, self.gift_of, self.gift_for))

    def stated(
        self,
        *,
        about_item: bool,
    ) -> dict[str, Any]:
        """What a request states of its order; of the item, where it is about one, or where that
        stands for the order.
        """
        colour, noun = item_of(self.line)
        speaks_of_item = about_item or not self.stands_alone

        return {
            "order_id": self.order_id if self.by_id else None,
            "colour": colour if speaks_of_item and not self.by_noun else None,
            "noun": noun if speaks_of_item else None,
            "after": self.after,
            "gift_of": self.gift_of,
            "gift_for": self.gift_for,
        }


@dataclass(frozen=True, slots=True)
class Intent:
    """A request with its share of script and check.

    `calls` are the right ones: writes, of which what must hold at the end follows, or the look-up
    whose answer is `told`. `free` are paths that may have any value.
    """

    request: Request
    calls: tuple[Call, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)
    told: tuple[Tell, ...] = ()
    free: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    referent: Referent | None = None
    revisions: tuple[Revision, ...] = ()
    events: tuple[ShopEvent, ...] = ()
    complications: tuple[str, ...] = ()

    def complicated(self, *complications: str, words: str = "", **stated: Any) -> "Intent":
        """The request with complications, with words added and other things stated."""
        request = structs.replace(self.request, text=self.request.text + words, **stated)

        return replace(
            self,
            request=request,
            complications=(*self.complications, *complications),
        )

    def denied(self, rule: str, evidence: str, *calls: Call) -> "Intent":
        """The same request, which has to be denied, but for what these calls still do."""
        refusal = Refusal(str(self.request.number), rule, evidence)

        return replace(
            self,
            calls=calls,
            told=(),
            refusals=(refusal,),
        )


@dataclass(frozen=True, slots=True)
class Subject:
    """The request that makes a task the kind of task that it is, as it is compiled: of a minimal
    pair the task's own side first, then its twin's; none where a task is about none in particular.

    The other requests are drawn in the world `shown`; `facts` are the task's start facts that
    differ from the world's own. With `known` factors the customer has no others, and by `rule`
    every request about their orders is denied; `steady`: nobody changes their mind.
    """

    shown: BaseWorld
    sides: tuple[Intent, ...] = ()
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    rule: str = ""
    known: tuple[str, ...] = ()
    steady: bool = False


@dataclass(frozen=True, slots=True)
class Draw:
    """What requests are drawn from; `customer_id` is who speaks, `slot` is what the words leave
    open, `referent` fixes the words for the order, `tell` whether its new total is asked for.
    """

    rng: Random
    config: StorefrontConfig
    base: BaseWorld
    number: int
    customer_id: str
    slot: Slot | None = None
    referent: Referent | None = None
    tell: bool | None = None

    @property
    def file(self) -> Shown:
        """The customer's file."""
        return self.base.files[self.customer_id]

    @property
    def orders(self) -> list[Shown]:
        """The orders that the customer placed, newest first."""
        return [self.base.orders[key] for key in self.base.orders_of.get(self.customer_id, ())]

    def mine(self, *statuses: str) -> list[Shown]:
        """The customer's orders that are no gifts, in one of these statuses, in a drawn order."""
        found = [
            order
            for order in self.orders
            if order["status"] in statuses and order["recipient_id"] is None
        ]

        return self.rng.sample(found, len(found))

    @property
    def options(self) -> CustomerOptions:
        """What the customer could ask for in the world that requests are drawn from."""
        ordered = {item_of(line) for order in self.orders for line in order["lines"]}
        codes = sorted(self.base.tables["coupons"])

        return CustomerOptions(
            self.base, self.base.rules, self.customer_id, codes=codes, ordered=ordered
        )

    def feasible(
        self,
        order_id: str,
    ) -> dict[str, list[Call]]:
        """The calls that serve a request about an order which no rule forbids, by kind.

        A city names one address of the customer, or as many as the words may leave open.
        """
        found: dict[str, list[Call]] = {}
        options = self.options
        # an address is told by its city, unless that is what the words leave open
        low, high = self.config.ambiguity if self.slot == "address" else (1, 1)

        for tool, made in options.of(order_id):
            clear = tool != "change_address" or low <= self.in_city(made["address_id"]) <= high

            if clear and not options.forbidding((tool, made)):
                found.setdefault(KIND_OF[tool], []).append((tool, made))

        return found

    def in_city(
        self,
        address_id: str,
    ) -> int:
        """How many addresses on the customer's file are in the city of one."""
        city = self.base.row("addresses", address_id)["city"]

        return [row["city"] for row in self.file["addresses"]].count(city)

    def detail(
        self,
        name: str,
    ) -> str:
        """One of the customer's preferences."""
        return str(self.rng.choice(sorted(DETAILS[name])))

    def words(self, name: str, **parts: Any) -> str:
        """One of the wordings of the variant."""
        wordings = WORDS["requests"][name][self.config.variant]

        return str(self.rng.choice(wordings)).format(**parts)

    def with_all_said(self) -> "Draw":
        """The same, with a customer who forgets nothing."""
        return replace(self, config=self.config.model_copy(update={"missing": 0.0}))

    def intent(
        self,
        kind: Kind,
        referent: Referent,
        *calls: Call,
        words: str = "",
        wanted: str | None = None,
        missing: bool = False,
        tell: bool = False,
        told: Sequence[Tell] = (),
        details: Mapping[str, str] = {},
        parts: Mapping[str, str] = {},
    ) -> Intent:
        """The request in words: `wanted` is left out where it is `missing`, and the new total asked
        for where they `tell`.
        """
        name = words or kind + "_missing" * missing
        # an item is in an order, or comes from it; one that stands for the order needs no others
        where = f" {'in' if kind == 'exchange' else 'from'} {referent.phrase}"
        where = where if referent.stands_alone else " that I ordered"
        given = None if missing else wanted
        known = {WANTED_FIELD[kind]: str(wanted)} if missing else {}
        filled = {"order": referent.phrase, "item": referent.item, "where": where, **parts}
        text = self.words(name, wanted=given, **filled) + WORDS["tell_total"] * tell
        # all wordings of a request have the same placeholders
        stated = referent.stated(about_item="{item}" in WORDS["requests"][name]["train"][0])

        return Intent(
            Request(self.number, kind, text, wanted=given, tell_total=tell, **stated),
            calls,
            {**referent.details, **known, **details},
            tuple(told),
            referent=referent,
            complications=("missing",) * missing,
        )
