"""One request of a customer, compiled: words, what the customer knows, and the calls that serve
it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from msgspec import structs

from synth.envs.storefront.customer.customer import DETAILS
from synth.envs.storefront.customer.script import WANTED_FIELD, Kind, Request, Revision
from synth.envs.storefront.tasks.requests.entity_resolution import WORDS, Referent, Slot, refer
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.policy import Call
from synth.envs.storefront.world.shop_events import ShopEvent
from synth.envs.storefront.world.views import Shown
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Refusal, ToldFact


@dataclass(frozen=True, slots=True)
class Intent:
    """A request with its share of script and check.

    `calls` are the right ones: writes, of which what must hold at the end follows, or the look-up
    whose answer is `told`. `free` are paths that may have any value.
    """

    request: Request
    calls: tuple[Call, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)
    told: tuple[ToldFact, ...] = ()
    free: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    referent: Referent | None = None
    revisions: tuple[Revision, ...] = ()
    events: tuple[ShopEvent, ...] = ()
    complications: tuple[str, ...] = ()

    def complicated(
        self,
        *complications: str,
        words: str = "",
        **stated: Any,
    ) -> "Intent":
        """The request with complications, with words added and other things stated."""
        request = structs.replace(
            self.request,
            text=self.request.text + words,
            **stated,
        )

        every = (*self.complications, *complications)

        return replace(self, request=request, complications=every)

    def denied(self, rule: str, evidence: str, *calls: Call) -> "Intent":
        """The same request, which has to be denied, but for what these calls still do."""
        refusal = Refusal(str(self.request.number), rule, evidence)

        return replace(self, calls=calls, told=(), refusals=(refusal,))


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

    def detail(self, name: str) -> str:
        """One of the customer's preferences."""
        values: list[str] = sorted(DETAILS[name])

        return self.rng.choice(values)

    def words(self, name: str, **parts: str | None) -> str:
        """One of the wordings of the variant."""
        wordings: list[str] = WORDS["requests"][name][self.config.variant]

        return self.rng.choice(wordings).format(**parts)

    def leaves_out(self) -> bool:
        """Whether the customer forgets to say what is wanted."""
        return self.rng.random() < self.config.missing and self.config.dialogue

    def asks_total(self, share: float) -> bool:
        """Whether the customer asks for the new total."""
        return self.rng.random() < share if self.tell is None else self.tell

    def with_all_said(self) -> "Draw":
        """The same, with a customer who forgets nothing."""
        return replace(
            self,
            config=self.config.model_copy(update={"missing": 0.0}),
        )

    def refer(
        self,
        order_id: str,
        lines: Sequence[Shown] | None = None,
    ) -> Referent:
        """Words for an order, and for one of these lines of it."""
        if self.referent is not None:
            return self.referent

        every = lines or self.base.orders[order_id]["lines"]

        return refer(
            self.rng,
            self.config,
            self.base,
            order_id,
            every,
            self.slot,
        )

    def plain(
        self,
        kind: Kind,
        words: str,
        *calls: Call,
        **parts: Any,
    ) -> Intent:
        """A request that is about no order; `parts` fill its words, and stand in it."""
        stated = {name: value for name, value in parts.items() if name != "item"}

        text = self.words(
            words,
            **{name: str(value) for name, value in parts.items()},
        )

        return Intent(
            Request(self.number, kind, text, **stated),
            calls,
        )

    def intent(
        self,
        kind: Kind,
        referent: Referent,
        *calls: Call,
        words: str = "",
        wanted: str | None = None,
        missing: bool = False,
        tell: bool = False,
        told: Sequence[ToldFact] = (),
        details: Mapping[str, str] = {},
        parts: Mapping[str, str] = {},
    ) -> Intent:
        """The request in words: `wanted` is left out where it is `missing`, and the new total asked
        for where they `tell`.
        """
        name = words or kind + "_missing" * missing
        # an item is in an order, or comes from it; where it stands for the order it needs no
        # other words
        where = f" {'in' if kind == 'exchange' else 'from'} {referent.phrase}"
        given = None if missing else wanted
        known = {WANTED_FIELD[kind]: str(wanted)} if missing else {}

        text = self.words(
            name,
            order=referent.phrase,
            item=referent.item,
            where=where if referent.stands_alone else " that I ordered",
            wanted=given,
            **parts,
        )

        text += WORDS["tell_total"] * tell
        # all wordings of a request have the same placeholders
        about_item = "{item}" in WORDS["requests"][name]["train"][0]
        stated = referent.stated(about_item=about_item)

        return Intent(
            Request(self.number, kind, text, wanted=given, tell_total=tell, **stated),
            calls,
            {**referent.details, **known, **details},
            tuple(told),
            referent=referent,
            complications=("missing",) if missing else (),
        )
