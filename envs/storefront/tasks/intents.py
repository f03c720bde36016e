"""One request of a customer, compiled: words, what the customer knows, and what must be true and
said at the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from string import Template
from typing import Any

import msgspec

from synth.envs.storefront.customer.customer import DETAILS
from synth.envs.storefront.customer.script import WANTED_FIELD, Kind, Request, Revision
from synth.envs.storefront.tasks.referents import Referent, Slot, described, refer
from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.shop_events import ShopEvent
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Refusal, RowPredicate, Scalar, ToldFact

WORDS: Mapping[str, Any] = texts("wordings")


@dataclass(frozen=True, slots=True)
class Intent:
    """A request with its share of script and check."""

    request: Request
    details: dict[str, str] = field(default_factory=dict)
    required: tuple[RowPredicate, ...] = ()
    free: tuple[str, ...] = ()
    told: tuple[ToldFact, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    referent: Referent | None = None
    revisions: tuple[Revision, ...] = ()
    events: tuple[ShopEvent, ...] = ()
    twists: tuple[str, ...] = ()

    def twisted(self, *twists: str, words: str = "", **stated: Any) -> "Intent":
        """The request with twists, with words added and other things stated."""
        text = self.request.text + words
        request = msgspec.structs.replace(self.request, text=text, **stated)
        return replace(self, request=request, twists=(*self.twists, *twists))

    def ending(self, end: "End", **other: Any) -> "Intent":
        """The same request with another end."""
        return replace(self, required=end.required, free=end.free, told=end.told, **other)

    def denied(self, rule: str, evidence: str, end: "End | None" = None) -> "Intent":
        """The same request, which has to be denied, but for what its `end` still asks for."""
        refusal = Refusal(str(self.request.number), rule, evidence)
        return self.ending(end or End(), refusals=(refusal,))


class End(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must hold once a request is done, what may change with it, and what is told."""

    required: tuple[RowPredicate, ...] = ()
    free: tuple[str, ...] = ()
    told: tuple[ToldFact, ...] = ()


def end_of(kind: str, **values: Scalar) -> End:
    """The end of a kind of request, as `data/requests.yaml` has it, with its values."""
    return msgspec.convert(_filled(texts("requests")[kind], values), End)


def _filled(template: Any, values: Mapping[str, Scalar]) -> Any:
    match template:
        case dict():
            return {key: _filled(inner, values) for key, inner in template.items()}
        case list():
            return [_filled(inner, values) for inner in template]
        case str() if template[:1] == "$":
            return values[template[1:]]
        case str():
            return Template(template).substitute(values)
    return template


@dataclass(frozen=True, slots=True)
class Draw:
    """What a maker of intents draws from; `referent` fixes the words for the order, `customer_id`
    is who speaks, `slot` is what the words
    leave open.
    """

    rng: Random
    config: StorefrontConfig
    base: BaseWorld
    number: int
    customer_id: str
    slot: Slot | None = None
    referent: Referent | None = None

    def order(self, order_id: str) -> Row:
        """An order."""
        return self.base.orders[order_id]

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

    def with_all_said(self) -> "Draw":
        """The same, with a customer who forgets nothing."""
        return replace(self, config=self.config.model_copy(update={"missing": 0.0}))

    def refer(self, order_id: str, line_keys: list[str] | None = None) -> Referent:
        """Words for an order."""
        if self.referent is not None:
            return self.referent
        keys = line_keys or list(self.base.lines_of[order_id])
        return refer(self.rng, self.config, self.base, order_id, keys, self.slot)

    def intent(
        self,
        kind: Kind,
        referent: Referent,
        end: End,
        *,
        words: str = "",
        wanted: str | None = None,
        missing: bool = False,
        tell: bool | None = None,
        details: Mapping[str, str] = {},
        parts: Mapping[str, str] = {},
    ) -> Intent:
        """The request in words: `wanted` is left out where it is `missing`, and the new total asked
        for where they `tell` (None: what is told is what the request is about). The item is stated
        where the words are about one, or where it stands for the order.
        """
        name = words or kind + "_missing" * missing
        where = f" {'in' if kind == 'exchange' else 'from'} {referent.phrase}"
        stated = None if missing else wanted
        text = self.words(
            name,
            order=referent.phrase,
            item=referent.item,
            where=where if referent.stands_alone else " that I ordered",
            wanted=stated,
            **parts,
        )
        about_item = "{item}" in WORDS["requests"][name]["train"][0]
        colour, noun = described(self.base, referent.line_key)
        if not about_item and referent.stands_alone:
            noun = ""
        request = Request(
            self.number,
            kind,
            text + WORDS["tell_total"] * bool(tell),
            order_id=referent.order_id if referent.by_id else None,
            colour=colour if noun and not referent.by_noun else None,
            noun=noun or None,
            wanted=stated,
            tell_total=bool(tell),
            after=referent.after,
            gift_of=referent.gift_of,
            gift_for=referent.gift_for,
        )
        known = {WANTED_FIELD[kind]: str(wanted)} if missing else {}
        return Intent(
            request,
            {**referent.details, **known, **details},
            end.required,
            end.free,
            () if tell is False else end.told,
            referent=referent,
            twists=("missing",) if missing else (),
        )
