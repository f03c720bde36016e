"""Tools that speak to the customer; the customer's answer follows as an utterance of its own."""

from collections.abc import Callable
from typing import Any

from envs.storefront.desk import Arguments, Desk
from envs.storefront.world import SESSION

Result = dict[str, Any]
Spoken = tuple[Result, str | None]
"""The tool's answer, and what the customer says next."""


def pending(desk: Desk) -> bool:
    """Whether the customer agreed to something that has not been written yet."""
    return bool(desk.state.row(*SESSION)["confirmed"])


def say(desk: Desk, text: str) -> str:
    """Plain text to the customer; gives the customer's answer."""
    answer, agreed = desk.customer.heard(text, pending=pending(desk))
    if agreed:
        desk.confirmed(True)
    return answer


def ask_customer(desk: Desk, args: Arguments) -> Spoken:
    """One question for one field; a confirmation stands until the next write or denial."""
    answer = desk.customer.asked(args["field"], args.get("request"), pending=pending(desk))
    if args["field"] == "confirmation":
        desk.confirmed(True)
    return {"ok": True}, answer


def reply(desk: Desk, args: Arguments) -> Spoken:
    """A message; questions in it are recognised by keyword."""
    return {"ok": True}, say(desk, args["message"])


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


TALKS: dict[str, Callable[[Desk, Arguments], Spoken]] = {"ask_customer": ask_customer, "reply": reply, "deny": deny, "finish": finish}
