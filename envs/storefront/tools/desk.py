"""What a tool works on: state, clock, customer and events of one episode; and the error that a tool
answers with.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

from synth.envs.storefront.customer.customer import Customer
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.clock import Clock
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.search_index import SearchIndex
from synth.envs.storefront.world.shop_events import due, names, raced
from synth.envs.storefront.world.state import State
from synth.envs.storefront.world.world import SESSION
from synth.schemas.canonical import canonical_json
from synth.schemas.check import Scalar

ErrorKind = Literal["validation", "not_found", "denied", "conflict", "transient"]
Arguments = dict[str, Any]
_HASH_RANGE = 1 << 32


class DeskError(Exception):
    """A tool's readable refusal; `str(error)` is the observation's text."""

    def __init__(self, kind: ErrorKind, text: str) -> None:
        super().__init__(f"{kind}: {text}")


@dataclass(slots=True)
class Desk:
    """One conversation at the support desk; `happened` are places of events, `stumbled` calls that
    met a transient error.
    """

    state: State
    clock: Clock
    customer: Customer
    config: StorefrontConfig = field(default_factory=StorefrontConfig)
    index: SearchIndex = field(default_factory=SearchIndex)
    happened: list[int] = field(default_factory=list)
    stumbled: list[str] = field(default_factory=list)

    def tick(self) -> None:
        """One step has passed: what is due happens before the agent's calls."""
        self.clock.tick()
        if self.customer.script.events:
            self._happen(due(self.customer.script.events, self.happened, self.clock.ticks))

    def race(self, arguments: Arguments) -> None:
        """What the shop does just before a write."""
        if self.customer.script.events:
            self._happen(raced(self.customer.script.events, self.happened, names(arguments)))

    def _happen(self, places: Iterable[int]) -> None:
        for at in places:
            event = self.customer.script.events[at]
            self.happened.append(at)
            if event.table == "variants":
                self.index.written(
                    self.clock.ticks, event.key, self.state.row("variants", event.key)
                )
            self.state.update(event.table, event.key, **event.values)

    def run_out(self) -> None:
        """Everything that is still to come happens: the conversation is over, the shop goes on."""
        self._happen(
            due(
                self.customer.script.events,
                self.happened,
                max((e.tick for e in self.customer.script.events), default=0),
            )
        )

    def at_the_end(self) -> State:
        """The state after all events that are still to come; this episode's own stays as it is."""
        events = self.customer.script.events
        if len(self.happened) == len(events):
            return self.state
        state = self.state.copy()
        for at in due(events, self.happened, max(event.tick for event in events)):
            state.update(events[at].table, events[at].key, **events[at].values)
        return state

    def stumble(self, name: str, arguments: Arguments) -> None:
        """Raises a transient `DeskError` at the first try of an unlucky call: the same call in the
        same world, whenever it is made.
        """
        rate = self.config.transient_rate
        if rate == 0:
            return
        signature = blake2b(
            canonical_json([self.state.base.seed, name, arguments]), digest_size=8
        ).hexdigest()
        if int(signature[:8], 16) < rate * _HASH_RANGE and signature not in self.stumbled:
            self.stumbled.append(signature)
            raise DeskError(
                "transient", f"{name} timed out and changed nothing; it is safe to call it again"
            )

    def enforces(self, rule: str) -> bool:
        """Whether tools hold this rule."""
        return rule in self.state.base.rules.enforced

    def write_variant(self, sku: str, **columns: Scalar) -> None:
        """Changes a variant now, and in the search index a tick later."""
        self.index.written(self.clock.ticks, sku, self.state.row("variants", sku))
        self.state.update("variants", sku, **columns)

    def known(self, table: str, key: str, noun: str) -> Row:
        """A row by an id that the agent gave. Raises `DeskError` where there is none."""
        row = self.state.get(table, key)
        if row is None:
            raise DeskError("not_found", f"there is no {noun} {ascii(key)[1:-1]}")
        return row

    def order(self, order_id: str) -> Row:
        """An order by id."""
        return self.known("orders", order_id, "order")

    def lines(self, order_id: str, numbers: list[int] | None = None) -> list[tuple[str, Row]]:
        """An order's lines, or those with these numbers. Raises `DeskError` for a number the order
        does not have.
        """
        keys = self.state.base.lines_of.get(order_id, ())
        if numbers is not None:
            wanted = [f"{order_id}.{number}" for number in numbers]
            for number, key in zip(numbers, wanted, strict=True):
                if key not in keys:
                    raise DeskError("not_found", f"order {order_id} has no line {number}")
            keys = tuple(wanted)
        return [(key, self.state.row("lines", key)) for key in keys]

    def confirmed(self, value: bool) -> None:
        """Records that the customer's yes is standing, or used up."""
        self.state.update(*SESSION, confirmed=value)
