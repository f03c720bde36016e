"""Tools that speak to the customer; the customer's line follows as an utterance of its own."""

from collections.abc import Callable
from typing import Any

from synth.envs.storefront.tools.desk import Arguments, Desk, DeskError
from synth.envs.storefront.tools.schemas import CHECKERS, FACTS
from synth.envs.storefront.world.world import SESSION

Result = dict[str, Any]
Spoken = tuple[Result, str | None]
"""The tool's answer, and what the customer says next."""


def pending(desk: Desk) -> bool:
    """Whether the customer agreed to something that has not been written yet."""
    return bool(desk.state.row(*SESSION)["confirmed"])


def ask_customer(desk: Desk, args: Arguments) -> Spoken:
    """The answer to one question; `anything_else` is answered by a line alone."""
    if args["field"] == "anything_else":
        return {"ok": True}, desk.customer.closing(pending=pending(desk))
    value, line = desk.customer.asked(args["field"], args.get("request"))
    return {"field": args["field"], "answer": value}, line


def confirm_with_customer(desk: Desk, args: Arguments) -> Spoken:
    """Whether the customer agrees to one write. An agreement stands until the write, or a denial.
    Raises `DeskError` for arguments that the write would not take.
    """
    problem = CHECKERS[args["write"]](args["arguments"], "arguments")
    if problem is not None:
        raise DeskError("validation", f"{args['write']}: {problem}")
    event, line = desk.customer.confirms(args["request"], args["write"])
    if event == "customer_agreed":
        desk.confirmed(True)
    return {"event": event, "write": args["write"], "request": args["request"]}, line


def tell_customer(desk: Desk, args: Arguments) -> Spoken:
    """Facts about an order or a sku. Raises `DeskError` where nothing is told, or about nothing."""
    about = args["about"]
    if desk.state.get("orders", about) is None and desk.state.get("variants", about) is None:
        raise DeskError("not_found", f"there is no order or sku {ascii(about)[1:-1]}")
    if FACTS.keys().isdisjoint(args):
        raise DeskError("validation", f"give at least one of {', '.join(FACTS)}")
    return {"ok": True}, desk.customer.informed()


def reply(desk: Desk, args: Arguments) -> Spoken:
    """Free text."""
    return {"ok": True}, desk.customer.heard()


def deny(desk: Desk, args: Arguments) -> Spoken:
    """A denial with the rule that forbids the request."""
    number, rule = args["request"], args["rule_id"]
    desk.state.put("denials", str(number), {"rule": rule})
    desk.confirmed(False)
    return {"ok": True, "request": number, "rule_id": rule}, desk.customer.was_denied(number)


def finish(desk: Desk, args: Arguments) -> Spoken:
    """The last message."""
    desk.customer.memory.ended = True
    return {"ok": True}, None


TALKS: dict[str, Callable[[Desk, Arguments], Spoken]] = {
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
