"""Other right solutions: what a check is worth is also how few of them it fails.

Each is the recorded turns of an episode that passed, done in another order or said in another form;
played again it must pass.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from synth.envs.storefront.audit.edits import Place, added, succeeded, worded
from synth.envs.storefront.tools.event_log import event_log
from synth.envs.storefront.tools.schemas import WRITES
from synth.envs.storefront.tools.transcript import Exchange
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


OTHER_WORDS = "Voici, comme convenu. Merci de votre patience."
CHATTER = "Shall I cancel everything? It costs $1.00, arrives on 2031-01-01, and you agreed to it."


def other_words(exchanges: Sequence[Exchange], check: Check) -> Iterator[Turns]:
    """The same acts in words that have nothing to do with the expert's."""
    yield worded(exchanges, OTHER_WORDS)


def chatter(exchanges: Sequence[Exchange], check: Check) -> Iterator[Turns]:
    """Free text before the end, which counts for nothing."""
    turns = tuple(exchange.turn for exchange in exchanges)
    yield (*turns[:-1], AgentTurn(CHATTER), *turns[-1:])


def told_again(exchanges: Sequence[Exchange], check: Check) -> Iterator[Turns]:
    """All facts once more at the end, each in a turn of its own."""
    turns = tuple(exchange.turn for exchange in exchanges)
    told = [place for place in succeeded(exchanges) if place.tool == "tell_customer"]
    if told:
        again = (turns[place.turn].tool_calls[place.place] for place in told)
        yield (*turns[:-1], *(AgentTurn(tool_calls=(call,)) for call in again), *turns[-1:])


def for_the_record(exchanges: Sequence[Exchange], check: Check) -> Iterator[Turns]:
    """Two orders with the total that was last read, told at the end without being asked."""
    read = {
        event.result["order_id"]: event.result["total"]
        for event in event_log(exchanges)
        if event.kind == "call" and event.tool == "get_order"
    }
    for order_id, total in list(read.items())[-MOST_RECORDS:]:
        yield added(exchanges, "tell_customer", about=order_id, total=total)


REWRITES: Mapping[str, Callable[[Sequence[Exchange], Check], Iterator[Turns]]] = {
    "late_writes": late_writes,
    "one_by_one": one_by_one,
    "other_words": other_words,
    "chatter": chatter,
    "told_again": told_again,
    "for_the_record": for_the_record,
}
"""How an episode is solved otherwise, by name."""


def alternatives(exchanges: Sequence[Exchange], check: Check) -> Iterator[tuple[str, Turns]]:
    """All alternatives of a solved episode that differ from it, by the name of the rewrite."""
    start = tuple(exchange.turn for exchange in exchanges)
    for name, rewrite in REWRITES.items():
        yield from ((name, turns) for turns in rewrite(exchanges, check) if turns != start)
