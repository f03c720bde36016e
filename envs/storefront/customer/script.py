"""What a task's customer wants, says at once, and knows: the typed form of `Task.script`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from synth.envs.storefront.texts import texts
from synth.schemas import ConfigError, Scalar

Kind = Literal[
    "cancel",
    "return",
    "exchange",
    "address",
    "coupon",
    "compensation",
    "out_of_scope",
    "note",
    "refund_query",
    "price_query",
    "track",
]
KINDS = texts("kinds")
KIND_OF: Mapping[str, Any] = {row["tool"]: kind for kind, row in KINDS.items()}
"""The kind of request that a tool carries out, or answers."""
WRITE_KINDS = frozenset(kind for kind, row in KINDS.items() if "writes" in row)
WANTED_FIELD: Mapping[str, str] = {
    kind: row["wanted"] for kind, row in KINDS.items() if "wanted" in row
}
"""Under which field the customer is asked for what a request wants."""
Condition = Literal["in_stock", "not_shipped", "refund_at_least"]


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """One numbered request exactly as the customer expresses it: nothing in here has to be looked
    up or asked for.

    An order is referred to by `order_id`, by an item in it (`colour`, `noun`), as the next one
    after the order with the item of `after`,
    as the gift of somebody (`gift_of`), or as the one placed for somebody (`gift_for`); an item by
    its noun alone where the colour is
    left out. `wanted` is the colour to change to, the city to send to, or the coupon's code, None
    where it was left out; `size` is told
    where a variant is asked for; `note` is what a note to the ticket `ticket_id` has to say, word
    for word; `pay_to` is where a refund
    must go: "card", or a card's last four digits; `tell_total` asks for the order's total
    afterwards; `former` asks for the price before
    the present one. With a `condition`, `otherwise` is to be done where it does not hold (None:
    nothing); `given` holds details that
    were stated without a question.
    """

    number: int
    kind: Kind
    text: str
    order_id: str | None = None
    colour: str | None = None
    noun: str | None = None
    size: str | None = None
    wanted: str | None = None
    tell_total: bool = False
    after: tuple[str, str] | None = None
    gift_of: str | None = None
    gift_for: str | None = None
    pay_to: str | None = None
    ticket_id: str | None = None
    note: str | None = None
    former: bool = False
    condition: Condition | None = None
    least: float | None = None
    otherwise: Kind | None = None
    given: Mapping[str, str] = msgspec.field(default_factory=dict)


class Revision(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of mind: from then on request `number` is `request`, or is withdrawn (None).

    It is said instead of the first yes to the request; with a `turn`, in that turn or the next one,
    if nobody asked for the yes before.
    """

    number: int
    text: str
    request: Request | None = None
    turn: int = 0


class ShopEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """At `tick`, a row takes these values: an order ships, stock drops, a coupon expires.

    An event that `races` happens at the latest when a write names its row, just before it: the shop
    is always faster, so that the end does not depend on how fast an agent works, while what it read
    before is stale.
    """

    tick: int
    table: str
    key: str
    values: Mapping[str, Scalar]
    races: bool = False


class Script(msgspec.Struct, frozen=True, omit_defaults=True):
    """`slots` are identity factors, `stated` those that the first words hold; `details` are answers
    per request number (order, item, reason, method, refund_to, card, colour, city, street, coupon).

    `pressure` is how often the customer pushes back on denials; `patience` the turns after which
    the customer leaves, 0 for never.
    """

    name: str = "a customer"
    slots: Mapping[str, str] = msgspec.field(default_factory=dict)
    requests: tuple[Request, ...] = ()
    details: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    revisions: tuple[Revision, ...] = ()
    events: tuple[ShopEvent, ...] = ()
    stated: tuple[str, ...] = ()
    pressure: int = 1
    patience: int = 0

    def said_at_once(self) -> dict[str, str | None]:
        """The name, and the identity factors that the first words hold."""
        return {
            "name": self.name,
            **{slot: self.slots[slot] for slot in self.stated},
        }

    def request(self, number: int | None) -> Request | None:
        """The request with this number as it was first stated, or None."""
        return next((request for request in self.requests if request.number == number), None)

    def standing(self, said: Sequence[str]) -> tuple[Request, ...]:
        """The requests as they stand after the customer said all this."""
        revised = {
            revision.number: revision.request
            for revision in self.revisions
            if revision.text in said
        }

        # a request that was withdrawn is None
        standing = (revised.get(request.number, request) for request in self.requests)

        return tuple(request for request in standing if request is not None)


def read_script(script: Mapping[str, Any]) -> Script:
    """The typed script. Raises `ConfigError` where the mapping has another shape."""
    try:
        return msgspec.convert(script, Script)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"task.script: {error}; make the task with `make_tasks`, or leave the script empty"
        ) from error
