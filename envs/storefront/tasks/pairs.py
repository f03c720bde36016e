"""Minimal pairs: a request that one rule forbids, and the same words where one hidden fact differs
and nothing forbids them.
"""

from dataclasses import dataclass

from synth.envs.storefront.tasks.intents import WORDS, Draw, End, Intent
from synth.envs.storefront.tasks.requests import MAKERS, destinations, makers
from synth.envs.storefront.tasks.returns import refunded
from synth.envs.storefront.world.world import BaseWorld, patched
from synth.schemas.check import Scalar


@dataclass(frozen=True, slots=True)
class Pair:
    """A request about an order; `path` has `forbidding` in the denied task, `allowing` in the
    other.

    `asks` names the maker; `partly`: some lines can go back; `claim`: what the customer may say,
    true in one of the two; `evidence`: what must have been looked
    up, if not the order; with `known` factors the customer has no others, and what is forbidden is
    every request about their orders.
    """

    rule: str
    order_id: str
    asks: str
    path: str
    forbidding: Scalar
    allowing: Scalar
    partly: tuple[str, ...] = ()
    claim: str = ""
    evidence: str = ""
    known: tuple[str, ...] = ()

    def facts(self, base: BaseWorld, *, refused: bool) -> dict[str, Scalar]:
        """The start fact of one of the two tasks, where it differs from the world's own."""
        value = self.forbidding if refused else self.allowing
        table, key, column = self.path.split("/")
        return {} if base.tables[table][key][column] == value else {self.path: value}

    def allowed(self, base: BaseWorld) -> BaseWorld:
        """The world in which nothing forbids the request."""
        return patched(base, tuple(self.facts(base, refused=False).items()))

    def is_feasible(self, base: BaseWorld, customer_id: str) -> bool:
        """Whether no second rule forbids the request in the world that allows it."""
        kind = self.asks.partition("_")[0]
        return kind in makers(self.allowed(base), self.order_id, customer_id)

    def intent(self, draw: Draw, *, refused: bool) -> Intent:
        """One side of the pair; `draw.base` is the allowing world, so that both sides have the
        same words.
        """
        intent = MAKERS[self.asks](draw, self.order_id)
        if draw.rng.random() < draw.config.false_claims:
            claims = WORDS["claims"][self.claim or self.rule]
            intent = intent.twisted(*["false_claim"] * refused, words=claims)
        if not refused:
            return intent
        end, known = End(), intent.details
        if self.partly:
            lines = list(self.partly)
            end = refunded(draw, self.order_id, lines, known["method"], known["refund_to"])
        partial = ["partial_refusal"] * bool(self.partly)
        return self.denied(intent, end).twisted(f"ineligible_{self.rule}", *partial)

    def denied(self, intent: Intent, end: End | None = None) -> Intent:
        """A request that the rule forbids, but for what its `end` asks for."""
        return intent.denied(self.rule, self.evidence or self.order_id, end)


def off_file(
    base: BaseWorld, order_id: str, city: str, forbidding: str, allowing: str
) -> Pair | None:
    """R11: the one address in a city that an order could go to is in a city of the customer's, or
    in one in which they have none; None where the city does not name one address.
    """
    keys, owner = destinations(base, order_id)[city], base.orders[order_id]["customer_id"]
    if len(keys) > 1:
        return None
    path, claim = f"addresses/{keys[0]}/city", "R11 file"
    return Pair("R11", order_id, "address", path, forbidding, allowing, claim=claim, evidence=owner)
