"""What the tools work on: the state of one episode, its clock, and what happens in the shop."""

from collections.abc import Collection, Iterable
from datetime import datetime, time, timedelta
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from synth.envs.storefront.customer.customer import Customer, CustomerMemory
from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.tools.transcript import leaves
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.policy import NEEDED_FACTORS, forbidding
from synth.envs.storefront.world.state import State
from synth.envs.storefront.world.views import Shown, order_shown
from synth.envs.storefront.world.world import SESSION
from synth.schemas import Scalar, canonical_json

ErrorKind = Literal["validation", "not_found", "denied", "conflict", "transient"]
OPENING_HOUR = 9
LAG_TICKS = 1
"""The search index takes writes in so much later."""
_HASH_RANGE = 1 << 32


class DeskError(Exception):
    """A tool's readable refusal; `str(error)` is the observation's text."""

    def __init__(
        self,
        kind: ErrorKind,
        text: str,
    ) -> None:
        super().__init__(f"{kind}: {text}")


class Elapsed(msgspec.Struct, forbid_unknown_fields=True):
    """What an episode has been through beside its writes.

    `ticks` are the steps so far, of one virtual minute each, `happened` places of events of the
    script, `stumbled` signatures of calls that met a transient error. `replaced` are rows of
    variants as they were before writes that the search index has not taken in, each with the tick
    of the write and the sku.
    """

    ticks: int = 0
    happened: list[int] = []
    stumbled: list[str] = []
    replaced: list[tuple[int, str, Row]] = []
    memory: CustomerMemory = msgspec.field(default_factory=CustomerMemory)


class Shop:
    """The shop during one conversation."""

    def __init__(
        self, state: State, script: Script, config: StorefrontConfig, elapsed: Elapsed
    ) -> None:
        self.state = state
        self.base = state.base
        self.rules = state.base.rules
        self.script = script
        self.config = config
        self.elapsed = elapsed
        self.customer = Customer(script, elapsed.memory)

    def now(self) -> str:
        """The virtual time to the minute; a world's day starts at nine."""
        opened = datetime.combine(datetime.fromisoformat(self.base.today), time(OPENING_HOUR))

        return (opened + timedelta(minutes=self.elapsed.ticks)).isoformat(timespec="minutes")

    def tick(self) -> None:
        """Lets one step pass: what is due happens before the agent's calls."""
        self.elapsed.ticks += 1
        self._happen(self.elapsed.ticks)

    def race(self, arguments: Shown) -> None:
        """Does what the shop does just before a write: racing events about rows that it names."""
        self._happen(self.elapsed.ticks, named=set(leaves(arguments)))

    def run_out(self) -> None:
        """Lets everything happen that is still to come: the conversation is over, the shop goes
        on.
        """
        self._happen(max((event.tick for event in self.script.events), default=0))

    def _happen(
        self,
        tick: int,
        named: Collection[object] = (),
    ) -> None:
        """Lets the events happen that have not, and are due at this tick or race for one of the
        rows that are named.
        """
        due = [
            (event.tick, at)
            for at, event in enumerate(self.script.events)
            if event.tick <= tick or (event.races and event.key in named)
        ]

        for _, at in sorted(due):
            if at in self.elapsed.happened:
                continue

            event = self.script.events[at]
            self.elapsed.happened.append(at)

            if event.table == "variants":
                self.write_variant(event.key, **event.values)
            else:
                self.state.update(event.table, event.key, **event.values)

    def at_the_end(self) -> State:
        """The state after all events that are still to come; this episode's own stays as it is."""
        # what happened already does not happen twice
        elapsed = Elapsed(happened=list(self.elapsed.happened))
        later = Shop(
            self.state.copy(),
            self.script,
            self.config,
            elapsed,
        )
        later.run_out()

        return later.state

    def stumble(self, name: str, arguments: Shown) -> None:
        """Raises a transient `DeskError` at the first try of an unlucky call: the same call in the
        same world, whenever it is made.
        """
        rate = self.config.transient_rate

        if rate == 0:
            return

        # no clock and no order of calls: a replay stumbles at the same calls
        blob = canonical_json([self.base.seed, name, arguments])
        signature = blake2b(blob, digest_size=8).hexdigest()
        unlucky = int(signature[:8], 16) < rate * _HASH_RANGE

        if unlucky and signature not in self.elapsed.stumbled:
            self.elapsed.stumbled.append(signature)
            again = f"{name} timed out and changed nothing; it is safe to call it again"

            raise DeskError("transient", again)

    def write_variant(self, sku: str, **columns: Scalar) -> None:
        """Changes a variant now, and in the search index a tick later."""
        now = self.elapsed.ticks
        kept = [entry for entry in self.elapsed.replaced if entry[0] + LAG_TICKS >= now]
        self.elapsed.replaced = [*kept, (now, sku, self.state.row("variants", sku))]
        self.state.update("variants", sku, **columns)

    def listed(self, table: str, key: str) -> Row:
        """A row as the search index has it: of a variant the oldest one that was replaced no more
        than a tick ago, else the live one.
        """
        now = self.elapsed.ticks

        old = (
            row
            for at, sku, row in self.elapsed.replaced
            if (table, key) == ("variants", sku) and now <= at + LAG_TICKS
        )

        return next(old, None) or self.state.row(table, key)

    def known(
        self,
        table: str,
        key: str,
        noun: str,
    ) -> Row:
        """A row by an id that the agent gave. Raises `DeskError` where there is none."""
        row = self.state.get(table, key)

        if row is None:
            raise DeskError("not_found", f"there is no {noun} {ascii(key)[1:-1]}")

        return row

    def order(self, order_id: str) -> Shown:
        """An order with its lines, by an id that the agent gave. Raises `DeskError`."""
        self.known("orders", order_id, "order")
        keys = self.base.lines_of.get(order_id, ())

        return order_shown(
            self.state.row,
            order_id,
            keys,
            verbose=bool(self.config.verbosity),
        )

    def lines(self, order: Shown, numbers: Iterable[int]) -> list[Shown]:
        """The lines of an order with these numbers. Raises `DeskError` for one that it lacks."""
        lines = {line["line"]: line for line in order["lines"]}
        found = []

        for number in numbers:
            if number not in lines:
                raise DeskError("not_found", f"order {order['order_id']} has no line {number}")

            found.append(lines[number])

        return found

    def hold(self, tool: str, order: Shown, **arguments: Any) -> None:
        """Raises `DeskError` where a rule that tools enforce forbids a write."""
        # a gift comes back through its recipient
        back_by = order["recipient_id"] or order["customer_id"]
        factors = self.state.get("conversation", back_by) or ()
        own = {back_by} if len(factors) >= NEEDED_FACTORS else set[str]()
        made = {**arguments, "order_id": order["order_id"]}

        for rule, why in forbidding(
            self.base,
            self.rules,
            (tool, made),
            own,
            order,
        ):
            if rule in self.rules.enforced:
                raise DeskError("denied", f"{rule}: {why}")

    def confirmed(self, value: bool) -> None:
        """Records that the customer's yes is standing, or used up."""
        self.state.update(*SESSION, confirmed=value)

    @property
    def pending(self) -> bool:
        """Whether the customer agreed to something that has not been written yet."""
        return bool(self.state.row(*SESSION)["confirmed"])
