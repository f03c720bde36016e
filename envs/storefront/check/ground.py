"""What an episode's words can stand on: acts with the goods and money that they moved, denials,
told facts, and how orders, parcels and prices stand.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from synth.envs.storefront.check.asked import CustomersWords
from synth.envs.storefront.check.claims import TOOLS
from synth.envs.storefront.check.episode_view import EpisodeView
from synth.envs.storefront.check.mentions import Good, Line, fit
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.transcript import Event, cents_of
from synth.envs.storefront.world.catalogue import Row
from synth.schemas import Scalar

_HANDED_OVER = {"refund_limit": "R6", "out_of_scope": "R13"}
"""What is escalated, and by which rule."""
HELD_BY: Mapping[str, Sequence[str]] = texts("claims")["held_by"]
"""What is said of an order -> the statuses that bear it out."""


@dataclass(frozen=True)
class EpisodeGround:
    """The episode, and the facts at its end that differ from the start."""

    view: EpisodeView
    changed: Mapping[str, Scalar]

    @cached_property
    def acts(self) -> list[Event]:
        """The writes that succeeded."""
        return list(self.view.calls(*TOOLS))

    @cached_property
    def denied(self) -> frozenset[str]:
        """The rules by which requests were denied."""
        return frozenset(str(one.arguments.get("rule_id")) for one in self.view.calls("deny"))

    @cached_property
    def denied_requests(self) -> frozenset[str]:
        """The requests that were denied, by their number."""
        return frozenset(str(one.arguments.get("request")) for one in self.view.calls("deny"))

    @cached_property
    def grounds(self) -> frozenset[str]:
        """The rules by which something was denied or handed over."""
        codes = {one.arguments.get("reason_code") for one in self.acts}
        return self.denied | {rule for code, rule in _HANDED_OVER.items() if code in codes}

    @cached_property
    def failed(self) -> list[str]:
        """What calls that failed were answered."""
        return [event.text for event in self.view.events if event.kind == "failed"]

    @cached_property
    def told(self) -> list[Event]:
        """The facts that were told: name in `tool`, about what in `text`, value in `told`."""
        return [event for event in self.view.events if event.kind == "told"]

    @cached_property
    def looked_at(self) -> list[str]:
        """What calls named as orders."""
        return sorted({str(event.order_id) for event in self.view.calls() if event.order_id})

    @cached_property
    def told_of(self) -> list[str]:
        """The orders that facts were told of, one for each fact."""
        return [one.text for one in self.told if one.text in self.view.base.tables["orders"]]

    @cached_property
    def shown(self) -> list[str]:
        """The orders that a call named, or that a fact was told of, by their ids."""
        found = {*self.looked_at} & self.view.base.tables["orders"].keys()
        return sorted({*found, *self.told_of})

    def row(self, table: str, key: object) -> Row:
        """A row at the end; nothing of one that is not there."""
        start = self.view.base.tables[table].get(str(key), {})
        now = {
            path.rpartition("/")[2]: value
            for path, value in self.changed.items()
            if path.startswith(f"{table}/{key}/")
        }
        return {**start, **now}

    def stands(self, act: str, order_id: object) -> bool:
        """Whether an order stands as an act would have left it, whoever saw to it."""
        return self.row("orders", order_id).get("status") in HELD_BY.get(act, ())

    def parcel(self, order_id: str) -> Row:
        """The shipment of an order."""
        keys: Sequence[str] = self.view.base.shipment_of.get(order_id, ())
        return self.row("shipments", keys[0]) if keys else {}

    # goods

    def variant(self, sku: object) -> Line:
        """What a sku is."""
        row = self.row("variants", sku)
        product = self.row("products", row.get("product_id"))
        return str(product.get("noun")), str(row.get("colour")), str(row.get("size"))

    def lines(
        self, order_id: str, numbers: Iterable[object] | None = None, *, end: bool = False
    ) -> list[Line]:
        """An order's lines as they were, or are at the end; all, or those with these numbers."""
        base = self.view.base
        wanted = None if numbers is None else {str(one) for one in numbers}
        keys = base.lines_of.get(order_id, ())
        rows = [self.row("lines", key) if end else base.tables["lines"][key] for key in keys]
        return [
            self.variant(row["sku"]) for row in rows if wanted is None or str(row["line"]) in wanted
        ]

    def touched(self, act: Event) -> list[Line]:
        """The lines that an act was done on, as they were."""
        return self.lines(str(act.order_id), act.arguments.get("lines"))

    def became(self, act: Event) -> list[Line]:
        """What an exchange made of the lines; nothing of other acts."""
        exchanged = act.arguments.get("lines", {}) if act.tool == "modify_lines" else {}
        return [self.variant(sku) for sku in exchanged.values()]

    @cached_property
    def known_lines(self) -> list[Line]:
        """The goods of the orders that were shown, and those that were told of."""
        lines = [
            line for key in self.shown for line in (*self.lines(key), *self.lines(key, end=True))
        ]
        return [*lines, *(self.variant(event.text) for event in self.told)]

    def holding(self, good: Good, orders: Iterable[str]) -> Iterator[str]:
        """The orders with a line, before or after, that goods may be."""
        for key in orders:
            if fit([good], [*self.lines(key), *self.lines(key, end=True)]):
                yield key

    # acts

    def of(self, act: str, orders: Iterable[str] = ()) -> list[Event]:
        """The events of an act, on these orders where some are given."""
        named = {*orders, None}
        return [
            event
            for event in self.acts
            if TOOLS[event.tool] == act and (len(named) == 1 or event.order_id in named)
        ]

    def means(self, refunds: Iterable[Event]) -> set[str]:
        """The kinds of means that refunds went to."""
        payments = self.view.base.tables["payments"]
        ways = (str(event.arguments.get("to")) for event in refunds)
        return {str(payments[to]["kind"]) if to in payments else to for to in ways}

    @cached_property
    def quotes(self) -> list[int]:
        """The refunds that were quoted, in cents."""
        return cents_of(self.view.calls("quote_refund"))

    @cached_property
    def reasons_given(self) -> frozenset[str]:
        """Ways and reasons that acts were given."""
        values = (event.arguments.get(name) for event in self.acts for name in ("method", "reason"))
        return frozenset(str(value) for value in values if value)

    def is_at(self, order_id: str, places: Sequence[str]) -> bool:
        """Whether an order goes where it is said to."""
        return self.is_address(self.row("orders", order_id).get("address_id"), places)

    def is_address(self, key: object, places: Sequence[str]) -> bool:
        """Whether an address is all of these places."""
        row = self.row("addresses", key)
        parts = {str(row.get(part)).lower() for part in ("street", "city", "zip")}
        alone = {part.partition(" ")[2] for part in parts if part[:1].isdigit()}
        return bool(places) and set(places) <= parts | alone

    @cached_property
    def was_late(self) -> bool:
        """Whether an order that was shown came, or comes, later than was promised."""
        return any(map(self.is_late, self.shown))

    def is_late(self, order_id: str) -> bool:
        """Whether an order came, or comes, later than was promised."""
        row, parcel = self.row("orders", order_id), self.parcel(order_id)
        came = max(str(row.get("delivered") or ""), str(parcel.get("arrives") or ""))

        return came > str(row.get("promised")) or parcel.get("status") == "delayed"

    # the customer

    @cached_property
    def asked(self) -> CustomersWords:
        """What the customer said and asked for."""
        return CustomersWords(self.view)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the shop's customers and brands."""
        tables = self.view.base.tables
        rows = (*tables["customers"].values(), *tables["products"].values())
        return frozenset(" ".join(str(row["name"]) for row in rows).lower().split())
