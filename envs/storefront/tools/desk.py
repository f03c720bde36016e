"""Answers one turn of the agent: its calls in order, then what the customer says.

Tools that speak to the customer give their answer, and what the customer says next. The `message`
of such a call is for the customer's eyes alone: no tool is given it.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from synth.envs.storefront.customer.customer import OUT_OF_PATIENCE
from synth.envs.storefront.customer.script import KIND_OF
from synth.envs.storefront.tools.read import READS
from synth.envs.storefront.tools.schemas import (
    CHECKERS,
    FACTS,
    MAX_TEXT,
    MESSAGE,
    SILENT_CHECKERS,
)
from synth.envs.storefront.tools.shop import DeskError, Shop
from synth.envs.storefront.tools.transcript import LONGEST_NAME, MAX_CALLS, decoded
from synth.envs.storefront.tools.write import WRITES
from synth.envs.storefront.world.views import Shown
from synth.envs.storefront.world.world import SESSION
from synth.schemas import AgentTurn, Observation, Source, ToolCall, canonical_json, valid_text

Spoken = tuple[Shown, str | None]
_OVER = "the conversation has ended"
ENDED = f"conflict: {_OVER}"
_SILENT = "validation: the turn is empty; say something or call a tool"
_UNREAD = "validation: nobody reads text; call a tool"
_TOO_LONG = f"validation: the text is longer than {MAX_TEXT} characters and was not delivered"


def ask_customer(
    shop: Shop,
    field: str,
    request: int | None = None,
) -> Spoken:
    """Gets the answer to one question; `anything_else` is answered by a line alone."""
    if field == "anything_else":
        return {"ok": True}, shop.customer.closing(pending=shop.pending)

    value, line = shop.customer.asked(field, request)

    return {"field": field, "answer": value}, line


def confirm_with_customer(
    shop: Shop,
    request: int,
    write: str,
    arguments: Shown,
) -> Spoken:
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
        raise DeskError("not_found", f"there is no order or sku {ascii(about)[1:-1]}")
    if not facts:
        raise DeskError("validation", f"give at least one of {', '.join(FACTS)}")

    return {"ok": True}, shop.customer.informed()


def reply(shop: Shop) -> Spoken:
    """Says something in free text."""
    return {"ok": True}, shop.customer.heard()


def deny(
    shop: Shop,
    request: int,
    rule_id: str,
) -> Spoken:
    """Denies a request by the rule that forbids it."""
    shop.state.put("denials", str(request), {"rule": rule_id})
    shop.confirmed(False)
    line = shop.customer.was_denied(request)

    return {"ok": True, "request": request, "rule_id": rule_id}, line


def finish(shop: Shop) -> Spoken:
    """Says the last message."""
    shop.elapsed.memory.ended = True

    return {"ok": True}, None


TALKS: Mapping[str, Callable[..., Spoken]] = {
    tool.__name__: tool
    for tool in (ask_customer, confirm_with_customer, tell_customer, reply, deny, finish)
}


def answers(shop: Shop, turn: AgentTurn, taken: AgentTurn) -> tuple[Observation, ...]:
    """Carries a turn out; `taken` is its legible form."""
    if shop.elapsed.memory.ended:
        ended = tuple(_tool_answer(call, ENDED, error=True) for call in turn.tool_calls)

        return ended or (Observation(ENDED, Source.ENVIRONMENT, error=True),)

    shop.tick()
    observations: list[Observation] = []
    spoken: list[str | None] = []
    problem = _wrong_with_text(shop, turn, taken)

    if problem is not None:
        observations.append(Observation(problem, Source.ENVIRONMENT, error=True))
    elif not turn.tool_calls:
        spoken.append(shop.customer.heard())

    # what is legible has no more calls than are carried out
    for call, legible in zip_longest(turn.tool_calls, taken.tool_calls):
        try:
            result, line = _carried_out(shop, call, None if legible is None else legible.name)
            spoken.append(line)
            observations.append(_tool_answer(call, canonical_json(result).decode(), error=False))
        except DeskError as error:
            observations.append(_tool_answer(call, str(error), error=True))

    # after the calls: what they answered was seen before
    spoken += _said_unasked(shop)
    lines = (Observation(text, Source.USER) for text in spoken if text is not None)

    return (*observations, *lines)


def _wrong_with_text(shop: Shop, turn: AgentTurn, taken: AgentTurn) -> str | None:
    """Why the text of a turn is not delivered; None where it is, or calls stand alone."""
    if turn.content is not None and len(turn.content) > MAX_TEXT:
        return _TOO_LONG
    if turn.tool_calls:
        return None
    if not (taken.content and taken.content.strip()):
        return _SILENT

    return None if shop.config.words else _UNREAD


def _said_unasked(shop: Shop) -> Sequence[str | None]:
    """What the customer says at the end of a turn: another wish, or that they leave. Where the
    conversation is over, what is still to come happens.
    """
    ticks = shop.elapsed.ticks
    changed = shop.customer.interrupts(ticks)
    leaves = shop.customer.out_of_patience(ticks, pending=shop.pending)

    if shop.elapsed.memory.ended:
        shop.state.update(*SESSION, ended=True)
        # the shop goes on after the conversation, so that the end does not depend on its length
        shop.run_out()

    return [changed, OUT_OF_PATIENCE if leaves else None]


def _tool_answer(call: ToolCall, content: str, *, error: bool) -> Observation:
    """An observation that belongs to a call."""
    call_id = valid_text(call.call_id)

    return Observation(
        content,
        Source.TOOL,
        call_id,
        valid_text(call.name[:LONGEST_NAME]),
        error,
    )


def _carried_out(shop: Shop, call: ToolCall, name: str | None) -> Spoken:
    """The result of one call, and what the customer says to it.

    Raises `DeskError` for a call that is wrong, unlucky, refused, or one too many (no name).
    """
    if name is None:
        raise DeskError("validation", f"at most {MAX_CALLS} calls are carried out in one turn")
    if shop.elapsed.memory.ended:
        raise DeskError("conflict", _OVER)

    checkers = CHECKERS if shop.config.words else SILENT_CHECKERS
    if name not in checkers:
        known = ", ".join(sorted(checkers))

        raise DeskError("not_found", f"there is no tool {ascii(name)[1:-1]}; tools: {known}")

    if len(call.arguments) > MAX_TEXT:
        raise DeskError("validation", f"arguments have more than {MAX_TEXT} characters")

    arguments = decoded(call.arguments)

    if arguments is None or call.parse_error is not None:
        raise DeskError("validation", "arguments are not a JSON object")

    problem = checkers[name](arguments, "arguments")

    if problem is not None:
        raise DeskError("validation", problem)

    if name in TALKS:
        # no tool reads what is said in words
        arguments.pop(MESSAGE, None)

        return TALKS[name](shop, **arguments)

    # only what is well-formed can be unlucky
    shop.stumble(name, arguments)

    if name in READS:
        return READS[name](shop, **arguments), None

    shop.race(arguments)
    result = WRITES[name](shop, **arguments)

    if name != "add_note":
        # a yes is used up by the next write, whatever it was for
        shop.confirmed(False)

    shop.customer.saw_write(KIND_OF[name])

    return result, None
