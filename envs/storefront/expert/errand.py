"""A request that the expert works on: what is known of it, what the expert asks the customer for it,
and how it denies it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from synth.envs.storefront.customer.script import WANTED_FIELD, Request
from synth.envs.storefront.expert.belief import Belief, Shown
from synth.envs.storefront.expert.plan import Call, Plan
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.event_log import act
from synth.envs.storefront.tools.schemas import MONEY_WRITES

ASSUMED = {
    "reason": "changed_mind",
    "method": "mail",
    "refund_to": "original",
    "confirmation": "no",
}
"""What is taken where the customer was not asked, or did not know."""
WORDS: Mapping[str, Any] = texts("expert")


@dataclass(frozen=True, slots=True)
class Errand:
    """A request, the account of who makes it, and the order that is meant, once it was read."""

    plan: Plan
    customer_id: str
    request: Request
    order: Shown = field(default_factory=dict)

    @property
    def belief(self) -> Belief:
        """What was observed."""
        return self.plan.belief

    @property
    def order_id(self) -> str:
        """The order's id."""
        return str(self.order["order_id"])

    @property
    def lines(self) -> list[Shown]:
        """The lines of the order that the request is about: the described item, or all."""
        noun, colour = self.request.noun, self.request.colour
        return [
            line
            for line in self.order["lines"]
            if noun is None
            or (colour in (None, line["colour"]) and line["product"].endswith(f" {noun}"))
        ]

    @property
    def wanted(self) -> str | None:
        """The colour, city or coupon that is wanted, where it was said."""
        return self.request.wanted or self.known(WANTED_FIELD[self.request.kind])

    def wrong(self, *misconceptions: str) -> bool:
        """Whether the planner has one of these misconceptions."""
        return not self.plan.wrong.isdisjoint(misconceptions)

    def known(self, detail: str) -> str | None:
        """A detail that the customer gave, at once or when asked."""
        return self.belief.answers.get((self.request.number, detail)) or self.request.given.get(
            detail
        )

    def detail(self, name: str) -> str:
        """A detail, or what is usual."""
        return self.known(name) or ASSUMED[name]

    def written(self, tool: str, **arguments: Any) -> bool:
        """Whether such a write on the order succeeded before."""
        return self.belief.has_written(tool, self.order_id, **arguments)

    def asking(self, *fields: str) -> list[Call]:
        """Questions for details that are open; `skips_confirmation` asks none."""
        return [] if self.wrong("skips_confirmation") else self.questions(*fields)

    def asking_what(self) -> list[Call]:
        """The question for what the customer left out."""
        left_out = self.request.wanted is None
        return self.questions(WANTED_FIELD[self.request.kind]) if left_out else []

    def questions(self, *fields: str, **words: str) -> list[Call]:
        """Questions for details that were not asked for yet."""
        number = self.request.number
        return [
            (
                "ask_customer",
                {
                    "field": name,
                    "message": WORDS["question"].format(
                        number=number, question=WORDS["questions"][name].format(**words)
                    ),
                    "request": number,
                },
            )
            for name in fields
            if (name, number) not in self.belief.asked and name not in self.request.given
        ]

    def denial(self, rule: str, *, about: str = "") -> list[Call]:
        """The denial with its rule, once; `about` says which part of a rule with several it is."""
        number = self.request.number
        if number in self.belief.denied:
            return []
        why = WORDS["why"].get(f"{rule} {about}".strip(), WORDS["otherwise"].format(rule=rule))
        message = WORDS["denial"].format(number=number, why=why)
        return [("deny", {"request": number, "rule_id": rule, "message": message})]

    def attempt(self, tool: str, **arguments: Any) -> list[Call]:
        """A write on the order; where a tool refused it by a rule, the denial that follows."""
        rule = self.belief.refused_by((tool, {"order_id": self.order_id, **arguments}))
        if rule is None:
            return self.agreed(tool, **arguments)
        holds = self.plan.forbids(rule) and not self.wrong("tries_anyway")
        return self.denial(rule) if holds else []

    def agreed(self, tool: str, **arguments: Any) -> list[Call]:
        """A write on the order; where money moves, the question for the customer's agreement until
        there is one to this very write.
        """
        made, number = {"order_id": self.order_id, **arguments}, self.request.number
        if (
            tool not in MONEY_WRITES
            or act(tool, made) in self.belief.agreed
            or self.request.given.get("confirmation") == "yes"
            or self.wrong("skips_confirmation")
            or (self.wrong("ignores_change") and number in self.belief.declined)
        ):
            return [(tool, made)]
        return [("confirm_with_customer", {"request": number, "write": tool, "arguments": made})]

    def item_meant(self) -> tuple["Errand", list[Call]]:
        """The errand with the item that is meant where its noun fits several, or the question which;
        `first_match` takes the first.
        """
        if self.request.noun is None or self.request.colour is not None:
            return self, []
        colours = [line["colour"] for line in self.lines]
        sure = len(colours) == 1 or (colours and self.wrong("first_match"))
        meant = colours[0] if sure else self.known("item")
        told = replace(self, request=structs.replace(self.request, colour=meant))
        return told, [] if meant is not None else self.questions("item")

    def refund_amount(self, lines: list[Shown]) -> float | None:
        """The quoted refund; `wrong_refund` takes the total of an order with several lines, or the
        price of one piece.
        """
        several = len(self.order["lines"]) > 1
        if self.wrong("wrong_refund") and (several or lines[0]["quantity"] > 1):
            return float(self.order["total"] if several else lines[0]["unit_price"])
        return self.belief.quotes.get((self.order_id, tuple(line["line"] for line in lines)))

    def variant_meant(self, colour: str | None, size: str) -> Shown | None:
        """The variant of a product in view; `ignores_size` takes the first of the colour."""
        product = self.belief.products.get(self.request.noun or "", {"variants": ()})
        for variant in product["variants"]:
            fits = variant["size"] == size or self.wrong("ignores_size")
            if variant["colour"] == colour and fits:
                return dict(variant)
        return None
