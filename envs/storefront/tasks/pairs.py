"""Minimal pairs: a request that one rule forbids, and the same words where one hidden fact differs
and nothing forbids them.
"""

from dataclasses import dataclass, replace

from msgspec import structs

from synth.envs.storefront.tasks.intents import WORDS, Draw, Intent, Maker
from synth.envs.storefront.tasks.returns import refunded
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Refusal, RowPredicate, Scalar


@dataclass(frozen=True, slots=True)
class Pair:
    """A request about an order; `path` has `forbidding` in the denied task, `allowing` in the
    other.

    `partly`: some lines can go back; `claim`: what the customer may say, true in one of the two;
    `evidence`: what must have been looked
    up, if not the order; with `known` factors the customer has no others, and what is forbidden is
    every request about their orders.
    """

    rule: str
    order_id: str
    make: Maker
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


def pair_intent(draw: Draw, pair: Pair, *, refused: bool) -> Intent:
    """One side of a pair; `draw.base` is the allowing world, so that both sides have the same
    words.
    """
    intent = pair.make(draw, pair.order_id)
    if draw.rng.random() < draw.config.false_claims:
        request = structs.replace(
            intent.request, text=intent.request.text + WORDS["claims"][pair.claim or pair.rule]
        )
        intent = replace(
            intent,
            request=request,
            twists=(*intent.twists, "false_claim") if refused else intent.twists,
        )
    if not refused:
        return intent
    required: tuple[RowPredicate, ...] = ()
    free: tuple[str, ...] = ()
    if pair.partly:
        kept, paths = refunded(
            draw,
            pair.order_id,
            list(pair.partly),
            intent.details["method"],
            intent.details["refund_to"],
        )
        required, free = tuple(kept), tuple(paths)
    denied = forbidden(intent, pair)
    twists = (
        *denied.twists,
        f"ineligible_{pair.rule}",
        *(("partial_refusal",) if pair.partly else ()),
    )
    return replace(denied, required=required, free=free, twists=twists)


def forbidden(intent: Intent, pair: Pair) -> Intent:
    """The same request, which has to be denied."""
    refusal = Refusal(str(intent.request.number), pair.rule, pair.evidence or pair.order_id)
    return replace(intent, required=(), free=(), told=(), refusals=(refusal,))
