"""A request that the expert works on: what it needs for it, and how it denies it.

A step that lacks something raises `NotYetError` with the calls that bring it; where all steps of a
request return, it is settled.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from synth.envs.storefront.customer.script import WANTED_FIELD, Request
from synth.envs.storefront.expert.belief import WORDS, Belief, Strategy, signature_of
from synth.envs.storefront.tools.schemas import MONEY_WRITES
from synth.envs.storefront.tools.transcript import act
from synth.envs.storefront.world.policy import Call, Rules, forbidding
from synth.envs.storefront.world.views import Shown, item_of

ASSUMED = {"reason": "changed_mind", "method": "mail", "refund_to": "original"}
"""What is taken where the customer was not asked, or did not know."""


class NotYetError(Exception):
    """Calls that have to be made before a plan can go on; none where it cannot."""

    def __init__(self, *calls: Call) -> None:
        super().__init__()
        self.calls = calls


@dataclass(frozen=True, slots=True)
class Errand:
    """What was observed, the policy of the system prompt, the way of working and the misconceptions
    held; a request as stated, the account of who makes it, and the order that is meant, once it was
    read.
    """

    belief: Belief
    rules: Rules
    strategy: Strategy
    held: frozenset[str]
    request: Request
    customer_id: str = ""
    order: Shown = field(default_factory=dict)

    def can(
        self,
        call: Call,
    ) -> bool:
        """Whether this call has not failed before."""
        return signature_of(call) not in self.belief.failed

    @property
    def order_id(self) -> str:
        """The order's id."""
        return str(self.order["order_id"])

    @property
    def lines(self) -> list[Shown]:
        """The lines of the order that the request is about: the described item, or all."""
        noun = self.request.noun
        colour = self.request.colour

        return [
            line
            for line in self.order["lines"]
            if noun is None or (item_of(line)[1] == noun and colour in (None, line["colour"]))
        ]

    def wrong(self, *misconceptions: str) -> bool:
        """Whether the planner has one of these misconceptions."""
        return not self.held.isdisjoint(misconceptions)

    def holds(
        self,
        rule: str,
    ) -> bool:
        """Whether the planner denies by a rule; one that gives in does so until the customer
        insists.
        """
        # who gives in denies at first, and stops when the customer insists
        denied = self.request.number in self.belief.denied
        firm = set() if self.belief.pushed_back and denied else {"gives_in"}
        ignored = {rule for name in self.held - firm for rule in WORDS["ignores"].get(name, ())}

        return rule in self.rules.in_force - ignored

    def known(
        self,
        detail: str,
    ) -> str | None:
        """A detail that the customer gave, at once or when asked."""
        number = self.request.number

        return self.belief.answers.get((number, detail)) or self.request.given.get(detail)

    def detail(
        self,
        name: str,
    ) -> str:
        """A detail, or what is usual."""
        return self.known(name) or ASSUMED[name]

    def written(self, tool: str, **arguments: Any) -> bool:
        """Whether such a write on the order succeeded before."""
        return self.belief.has_written(tool, self.order_id, **arguments)

    def ask(self, *fields: str, **words: str) -> None:
        """Asks for details that were not asked for yet."""
        number = self.request.number
        calls: list[Call] = []

        for name in fields:
            # what was asked once is not asked again: the customer does not know it
            if (name, number) in self.belief.asked or name in self.request.given:
                continue

            question = WORDS["questions"][name].format(**words)
            message = WORDS["question"].format(number=number, question=question)
            calls.append(("ask_customer", {"field": name, "message": message, "request": number}))

        if calls:
            raise NotYetError(*calls)

    def confirm(self, *fields: str) -> None:
        """Asks for details of how something is done; `skips_confirmation` asks for none."""
        if not self.wrong("skips_confirmation"):
            self.ask(*fields)

    def told(self, detail: str, **words: str) -> str:
        """A detail that has to be known; nothing can be done without it."""
        value = self.known(detail)

        if value is None:
            self.ask(detail, **words)

            raise NotYetError

        return value

    def wanted(self) -> str:
        """The colour, city or coupon that is wanted, which is asked for where it was not said."""
        return self.request.wanted or self.told(WANTED_FIELD[self.request.kind])

    def deny(
        self,
        rule: str,
        about: str = "",
    ) -> None:
        """Denies the request, once; `about` says which part of a rule with several it is."""
        number = self.request.number

        # a denial stands: nothing more can be done for this request
        if number in self.belief.denied:
            raise NotYetError

        otherwise = WORDS["otherwise"].format(rule=rule)
        why = WORDS["why"].get(f"{rule} {about}".strip(), otherwise)
        message = WORDS["denial"].format(number=number, why=why)

        raise NotYetError(("deny", {"request": number, "rule_id": rule, "message": message}))

    def forbid(self, tool: str, **arguments: Any) -> None:
        """Denies the request where a rule forbids such a call, as far as it is known."""
        call = (tool, {"order_id": self.order_id, **arguments})

        for rule, _ in forbidding(
            self.belief,
            self.rules,
            call,
            [self.customer_id],
        ):
            if self.holds(rule):
                self.deny(rule)

    def write(self, tool: str, **arguments: Any) -> None:
        """Makes a write on the order; where money moves, after the customer agreed to this very
        write. Where a tool refused it by a rule, denies the request.
        """
        made = {"order_id": self.order_id, **arguments}
        number = self.request.number
        # a write that failed otherwise is left to the plan
        rule = self.belief.failed.get(signature_of((tool, made)))

        if rule is not None and self.holds(rule) and not self.wrong("tries_anyway"):
            self.deny(rule)

        if (
            tool not in MONEY_WRITES
            or act(tool, made) in self.belief.agreed
            or self.request.given.get("confirmation") == "yes"
            or self.wrong("skips_confirmation")
            or (self.wrong("ignores_change") and number in self.belief.declined)
        ):
            raise NotYetError((tool, made))

        # a no to this very write stands
        if act(tool, made) in self.belief.refused:
            raise NotYetError

        asked = {"request": number, "write": tool, "arguments": made}

        raise NotYetError(("confirm_with_customer", asked))

    def file(self) -> Shown:
        """The customer's file."""
        if self.customer_id not in self.belief.files:
            raise NotYetError(("get_customer", {"customer_id": self.customer_id}))

        return self.belief.files[self.customer_id]

    def quote(
        self,
        lines: list[Shown],
    ) -> float:
        """What a return of the lines brings; `wrong_refund` takes the total of an order with
        several lines, or the price of one piece.
        """
        several = len(self.order["lines"]) > 1
        numbers = [line["line"] for line in lines]
        quoted = self.belief.quotes.get((self.order_id, tuple(numbers)))

        # a planner with the misconception reads the amount off the order, and asks no tool
        if self.wrong("wrong_refund") and (several or lines[0]["quantity"] > 1):
            return float(self.order["total"] if several else lines[0]["unit_price"])

        if quoted is None:
            made = {"order_id": self.order_id, "lines": numbers}

            raise NotYetError(("quote_refund", made))

        return quoted

    def variant(
        self,
        colour: str | None,
        size: str,
    ) -> Shown | None:
        """The variant of the product that is spoken of; `ignores_size` takes the first of the
        colour.
        """
        noun = str(self.request.noun)

        if noun not in self.belief.products:
            raise NotYetError(("search_products", {"query": noun}))

        # searching for a noun brings one product, for each has a noun of its own
        for variant in self.belief.products[noun]["variants"]:
            fits = variant["size"] == size or self.wrong("ignores_size")

            if variant["colour"] == colour and fits:
                return dict(variant)

        return None

    def with_item(self) -> "Errand":
        """The errand with the item that is meant where its noun fits several lines; `first_match`
        takes the first.
        """
        if self.request.noun is None or self.request.colour is not None:
            return self

        colours = [line["colour"] for line in self.lines]
        sure = len(colours) == 1 or (colours and self.wrong("first_match"))
        meant = colours[0] if sure else self.told("item")

        return replace(self, request=structs.replace(self.request, colour=meant))
