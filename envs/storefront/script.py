"""What a task's customer wants, says at once, and knows: the typed form of `Task.script`."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from schemas.errors import ConfigError

Kind = Literal["cancel", "return", "exchange", "address", "coupon", "refund_query", "price_query", "track"]
WRITE_KINDS: tuple[Kind, ...] = ("cancel", "return", "exchange", "address", "coupon")


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """One numbered request exactly as the opening message expresses it: nothing in here has to be looked up or asked for.

    An order is referred to by `order_id`, or by an item in it (`colour`, `noun`); `wanted` is the colour to change to, the city to send
    to, or the coupon's code; `size` is told where a variant is asked for; `tell_total` asks for the order's total afterwards.
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


class Script(msgspec.Struct, frozen=True, omit_defaults=True):
    """`slots` are identity factors; `details` are answers per request number (order, reason, method, refund_to)."""

    name: str = "a customer"
    slots: Mapping[str, str] = msgspec.field(default_factory=dict)
    requests: tuple[Request, ...] = ()
    details: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)

    def request(self, number: int | None) -> Request | None:
        """The request with this number, or None."""
        return next((request for request in self.requests if request.number == number), None)


def read_script(script: Mapping[str, Any]) -> Script:
    """The typed script. Raises `ConfigError` where the mapping has another shape."""
    try:
        return msgspec.convert(script, Script)
    except msgspec.ValidationError as error:
        raise ConfigError(f"task.script: {error}; make the task with `make_tasks`, or leave the script empty") from error
