"""Tools that speak to the customer; the customer's answer follows as an utterance of its own."""

from collections.abc import Callable
from typing import Any

from synth.envs.storefront.customer.customer import YES
from synth.envs.storefront.customer.told import windows
from synth.envs.storefront.tools.desk import Arguments, Desk
from synth.envs.storefront.world.world import SESSION

Result = dict[str, Any]
Spoken = tuple[Result, str | None]
"""The tool's answer, and what the customer says next."""


def pending(desk: Desk) -> bool:
    """Whether the customer agreed to something that has not been written yet."""
    return bool(desk.state.row(*SESSION)["confirmed"])


def say(desk: Desk, text: str) -> str:
    """Plain text to the customer; gives the customer's answer."""
    before = desk.customer.memory.misunderstood
    answer, agreed = desk.customer.heard(text, pending=pending(desk))
    misunderstood = desk.customer.memory.misunderstood
    if misunderstood > before and misunderstood % 2 == 0:
        _simulator_note(
            desk,
            f"after {misunderstood} questions that were not understood the customer said: {answer}",
        )
    if agreed:
        desk.confirmed(True)
    return answer


def _simulator_note(desk: Desk, text: str) -> None:
    """Logs what is due to the simulated customer, and not to the agent."""
    note_id = f"N-user_simulator.{desk.state.count('notes', 'N-user_simulator.') + 1}"
    created = desk.clock.now().isoformat(timespec="minutes")
    desk.state.put(
        "notes", note_id, {"ticket_id": "user_simulator", "text": text, "created": created}
    )


def ask_customer(desk: Desk, args: Arguments) -> Spoken:
    """One question for one field; a confirmation stands until the next write or denial. What is
    said besides "anything else?" is heard.
    """
    if args["field"] == "anything_else" and len(windows(args["message"])) > 1:
        desk.customer.memory.replies += 1
    answer = desk.customer.asked(
        args["field"], args.get("request"), pending=pending(desk), message=args["message"]
    )
    if answer == YES:
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


TALKS: dict[str, Callable[[Desk, Arguments], Spoken]] = {
    "ask_customer": ask_customer,
    "reply": reply,
    "deny": deny,
    "finish": finish,
}
