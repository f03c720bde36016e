"""What a tool works on: state, clock and customer of one episode; and the error that a tool answers with."""

from dataclasses import dataclass
from typing import Any, Literal

from envs.storefront.catalogue import Row
from envs.storefront.clock import Clock
from envs.storefront.customer import Customer
from envs.storefront.state import State
from envs.storefront.world import SESSION

ErrorKind = Literal["validation", "not_found", "denied", "conflict", "transient"]
Arguments = dict[str, Any]


class ToolError(Exception):
    """A tool's readable refusal; `str(error)` is the observation's text."""

    def __init__(self, kind: ErrorKind, text: str) -> None:
        super().__init__(f"{kind}: {text}")


@dataclass(slots=True)
class Desk:
    """One conversation at the support desk."""

    state: State
    clock: Clock
    customer: Customer

    def known(self, table: str, key: str, noun: str) -> Row:
        """A row by an id that the agent gave. Raises `ToolError` where there is none."""
        row = self.state.get(table, key)
        if row is None:
            raise ToolError("not_found", f"there is no {noun} {ascii(key)[1:-1]}")
        return row

    def order(self, order_id: str) -> Row:
        """An order by id."""
        return self.known("orders", order_id, "order")

    def lines(self, order_id: str, numbers: list[int] | None = None) -> list[tuple[str, Row]]:
        """An order's lines, or those with these numbers. Raises `ToolError` for a number the order does not have."""
        keys = self.state.base.lines_of.get(order_id, ())
        if numbers is not None:
            wanted = [f"{order_id}.{number}" for number in numbers]
            for number, key in zip(numbers, wanted, strict=True):
                if key not in keys:
                    raise ToolError("not_found", f"order {order_id} has no line {number}")
            keys = tuple(wanted)
        return [(key, self.state.row("lines", key)) for key in keys]

    def confirmed(self, value: bool) -> None:
        """Records that the customer's yes is standing, or used up."""
        self.state.update(*SESSION, confirmed=value)
