"""Other right solutions: what a check is worth is also how few of them it fails.

Each is the recorded turns of an episode that passed, done in another order or said in another form;
played again it must pass.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from synth.envs.storefront.audit.edits import Place, added, succeeded
from synth.envs.storefront.audit.falsehoods import true_sentences
from synth.envs.storefront.tools.event_log import event_log
from synth.envs.storefront.tools.schemas import TALKS, WRITES
from synth.envs.storefront.tools.transcript import Exchange, decoded, messages
from synth.schemas.check import Check
from synth.schemas.environment import AgentTurn

Turns = tuple[AgentTurn, ...]
MOST_RECORDS = 2


def late_writes(exchanges: Sequence[Exchange], check: Check) -> Iterator[Turns]:
    """Independent writes commute: those on orders that nothing looks at afterwards are made at the
    end, in both orders.
    """
    groups: dict[str, list[Place]] = {}
    for place in succeeded(exchanges):
        order_id = str(place.arguments.get("order_id"))
        if place.tool in WRITES and order_id != "None":
            groups.setdefault(order_id, []).append(place)
    movable = {key: places for key, places in groups.items() if _is_movable(exchanges, key, places)}
    if not movable:
        return
    turns = [exchange.turn for exchange in exchanges]
    moved = {place.turn for places in movable.values() for place in places}
    rest = [turn for at, turn in enumerate(turns[:-1]) if at not in moved]
    for order in (list(movable.values()), list(movable.values())[::-1]):
        yield (*rest, *(turns[place.turn] for places in order for place in places), turns[-1])


def _is_movable(exchanges: Sequence[Exchange], order_id: str, places: Sequence[Place]) -> bool:
    """Each write stands alone in its turn, is not the last one, and no later call but these names
    the order.
    """
    own = {place.turn for place in places}
    alone = all(len(exchanges[at].turn.tool_calls) == 1 and at < len(exchanges) - 1 for at in own)
    later = [
        exchange.turn for at, exchange in enumerate(exchanges) if at > min(own) and at not in own
    ]
    return alone and not any(
        order_id in call.arguments for turn in later for call in turn.tool_calls
    )


def one_by_one(exchanges: Sequence[Exchange], check: Check) -> Iterator[Turns]:
    """Calls of one turn in turns of their own."""
    yield tuple(
        part
        for exchange in exchanges
        for part in (
            [AgentTurn(None, (call,)) for call in exchange.turn.tool_calls]
            if exchange.turn.tool_calls
            else [exchange.turn]
        )
    )


def plain_words(exchanges: Sequence[Exchange], check: Check) -> Iterator[Turns]:
    """Replies as plain text."""
    yield tuple(_plain(exchange.turn, frozenset({"reply"})) for exchange in exchanges)


def told_again(exchanges: Sequence[Exchange], check: Check) -> Iterator[Turns]:
    """All facts once more in a summary at the end."""
    said = [message for exchange in exchanges[:-1] for message in messages(exchange)]
    facts = dict.fromkeys(
        sentence
        for message in said
        for fact in check.told
        if (sentence := true_sentences(fact, message, keep=True))
    )
    if facts:
        yield added(exchanges, "reply", message="To sum up: " + " ".join(facts))


def for_the_record(exchanges: Sequence[Exchange], check: Check) -> Iterator[Turns]:
    """Two orders with the day and the total that were last read, said at the end without being
    asked.
    """
    read = {
        event.result["order_id"]: event.result
        for event in event_log(exchanges)
        if event.kind == "call" and event.tool == "get_order"
    }
    if read:
        records = [
            f"Order {key} was placed on {row['placed']} and comes to ${row['total']:.2f} in total."
            for key, row in read.items()
        ]
        yield added(
            exchanges, "reply", message=" ".join(["For your records.", *records[-MOST_RECORDS:]])
        )


def dollars_in_words(exchanges: Sequence[Exchange], check: Check) -> Iterator[Turns]:
    """Amounts with the word dollars instead of the sign."""
    turns = []
    for exchange in exchanges:
        calls = tuple(
            msgspec.structs.replace(call, arguments=_worded(call.arguments))
            if call.name in TALKS
            else call
            for call in exchange.turn.tool_calls
        )
        turns.append(msgspec.structs.replace(exchange.turn, tool_calls=calls))
    yield tuple(turns)


def _worded(text: str) -> str:
    return " ".join(
        f"{word[1:].rstrip('.')} dollars{'.' if word.endswith('.') else ''}"
        if _is_sum(word)
        else word
        for word in text.split(" ")
    )


def _is_sum(word: str) -> bool:
    return word.startswith("$") and word[1:].rstrip(".").replace(".", "", 1).isdigit()


def spoken(turn: AgentTurn) -> AgentTurn:
    """A question or a reply in plain words instead of a tool's arguments."""
    return _plain(turn, frozenset({"ask_customer", "reply"}))


_OTHER_WORDS: Mapping[str, str] = {
    "email": "Could you please provide the email address on your account?",
    "phone": "Please share the phone number that we have on file.",
    "zip": "What is your postal code?",
    "reason": "{about}may I ask why you want to cancel it?",
    "method": "{about}how would you like to send it back?",
    "refund_to": "{about}where would you like the refund to go?",
    "colour": "{about}what colour would you like instead?",
    "city": "{about}which address should it go to?",
    "street": "{about}which of your addresses there is it?",
    "card": "{about}which card should be refunded?",
    "item": "{about}which one do you mean?",
    "order": "{about}which of your orders is it?",
    "coupon": "{about}what coupon code do you have?",
}
_GOING_TO = re.compile(r"I am going to (.+)\. Shall I go ahead\?")


def other_words(exchanges: Sequence[Exchange], check: Check) -> Iterator[Turns]:
    """Questions in plain words, as another agent would put them."""
    yield tuple(in_other_words(exchange.turn) for exchange in exchanges)


def in_other_words(turn: AgentTurn) -> AgentTurn:
    """A question by tool as one in plain words that are none of its message; every other turn as it
    is.
    """
    arguments = (decoded(turn.tool_calls[0].arguments) or {}) if len(turn.tool_calls) == 1 else {}
    going_to = _GOING_TO.search(str(arguments.get("message", "")))
    words = (
        _OTHER_WORDS.get(str(arguments.get("field")))
        if turn.tool_calls and turn.tool_calls[0].name == "ask_customer"
        else None
    )
    if arguments.get("field") == "confirmation" and going_to is not None:
        words = f"{{about}}would you like me to {going_to[1]}?"
    if words is None:
        return turn
    return AgentTurn(
        words.format(
            about=f"For request {arguments['request']}, " if "request" in arguments else ""
        )
    )


def _plain(turn: AgentTurn, tools: frozenset[str]) -> AgentTurn:
    if len(turn.tool_calls) != 1 or turn.tool_calls[0].name not in tools:
        return turn
    return AgentTurn(str((decoded(turn.tool_calls[0].arguments) or {}).get("message", "")))


REWRITES: Mapping[str, Callable[[Sequence[Exchange], Check], Iterator[Turns]]] = {
    "late_writes": late_writes,
    "one_by_one": one_by_one,
    "plain_words": plain_words,
    "other_words": other_words,
    "told_again": told_again,
    "for_the_record": for_the_record,
    "dollars_in_words": dollars_in_words,
}
"""How an episode is solved otherwise, by name."""


def alternatives(exchanges: Sequence[Exchange], check: Check) -> Iterator[tuple[str, Turns]]:
    """All alternatives of a solved episode that differ from it, by the name of the rewrite."""
    start = tuple(exchange.turn for exchange in exchanges)
    for name, rewrite in REWRITES.items():
        yield from ((name, turns) for turns in rewrite(exchanges, check) if turns != start)
