"""Tools that speak to the customer, whose line follows as an utterance of its own.

Each gives the tool's answer, and what the customer says next. The `message` of a call is for the
customer's eyes alone: no tool is given it.
"""

from collections.abc import Callable
from typing import Any

from synth.envs.storefront.tools.schemas import CHECKERS, FACTS
from synth.envs.storefront.tools.shop import DeskError, Shop
from synth.envs.storefront.world.views import Shown

Spoken = tuple[Shown, str | None]


def ask_customer(shop: Shop, field: str, request: int | None = None) -> Spoken:
    """Gets the answer to one question; `anything_else` is answered by a line alone."""
    if field == "anything_else":
        return {"ok": True}, shop.customer.closing(pending=shop.pending)

    value, line = shop.customer.asked(field, request)

    return {"field": field, "answer": value}, line


def confirm_with_customer(shop: Shop, request: int, write: str, arguments: Shown) -> Spoken:
    """Asks whether the customer agrees to one write; a yes stands until the write, or a denial.

    Raises `DeskError` for arguments that the write would not take.
    """
    problem = CHECKERS[write](arguments, "arguments")

    if problem is not None:
        raise DeskError("validation", f"{write}: {problem}")

    event, line = shop.customer.confirms(request, write)

    if event == "customer_agreed":
        # until it is written, the customer does not leave
        shop.confirmed(True)

    return {"event": event, "write": write, "request": request}, line


def tell_customer(shop: Shop, about: str, **facts: Any) -> Spoken:
    """Tells facts about an order or a sku. Raises `DeskError` for none, or about nothing."""
    if shop.state.get("orders", about) is None and shop.state.get("variants", about) is None:
        raise DeskError(
            "not_found",
            f"there is no order or sku {ascii(about)[1:-1]}",
        )
    if not facts:
        raise DeskError("validation", f"give at least one of {', '.join(FACTS)}")

    return {"ok": True}, shop.customer.informed()


def reply(shop: Shop) -> Spoken:
    """Says something in free text."""
    return {"ok": True}, shop.customer.heard()


def deny(shop: Shop, request: int, rule_id: str) -> Spoken:
    """Denies a request by the rule that forbids it."""
    shop.state.put("denials", str(request), {"rule": rule_id})
    shop.confirmed(False)
    line = shop.customer.was_denied(request)

    return {"ok": True, "request": request, "rule_id": rule_id}, line


def finish(shop: Shop) -> Spoken:
    """Says the last message."""
    shop.elapsed.memory.ended = True

    return {"ok": True}, None


TALKS: dict[str, Callable[..., Spoken]] = {
    tool.__name__: tool
    for tool in (
        ask_customer,
        confirm_with_customer,
        tell_customer,
        reply,
        deny,
        finish,
    )
}
