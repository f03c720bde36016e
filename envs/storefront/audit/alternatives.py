"""Other right solutions: what a check is worth is also how few of them it fails.

Each is the recorded turns of an episode that passed, done in another order or said in another form;
played again it must pass.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from synth.envs.storefront.audit.edits import Solution, Turns
from synth.envs.storefront.tools.schemas import WRITES
from synth.envs.transcript import Transcript
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task

MOST_RECORDS = 2
OTHER_WORDS = "Voici, comme convenu. Merci de votre patience."
CHATTER = "Shall I cancel everything? It costs $1.00, arrives on 2031-01-01, and you agreed to it."


def late_writes(done: Solution) -> Iterator[Turns]:
    """Independent writes commute: those on orders that nothing looks at afterwards are made at the
    end, in both orders.
    """
    turns = done.turns
    groups: dict[str, list[int]] = {}

    for call in done.calls(*WRITES):
        if call.order_id is not None:
            groups.setdefault(call.order_id, []).append(call.turn)

    # a group is all that was written on one order: its order within stays
    movable = [
        own
        for order_id, own in groups.items()
        if _is_movable(
            turns,
            order_id,
            own,
        )
    ]
    moved = {at for group in movable for at in group}
    rest = [turn for at, turn in enumerate(turns[:-1]) if at not in moved]

    # the last turn ends the conversation and stays last
    for order in (movable, movable[::-1]) if movable else ():
        yield (*rest, *(turns[at] for group in order for at in group), turns[-1])


def _is_movable(
    turns: Turns,
    order_id: str,
    own: Sequence[int],
) -> bool:
    """Each write stands alone in its turn, is not the last one, and no later call but these names
    the order.
    """
    alone = all(len(turns[at].tool_calls) == 1 and at < len(turns) - 1 for at in own)
    later = [turn for at, turn in enumerate(turns) if at > min(own) and at not in own]

    return alone and not any(
        order_id in call.arguments for turn in later for call in turn.tool_calls
    )


def one_by_one(done: Solution) -> Iterator[Turns]:
    """Calls of one turn in turns of their own."""
    yield tuple(
        part
        for turn in done.turns
        # a turn of words alone stays as it is
        for part in ([AgentTurn(None, (call,)) for call in turn.tool_calls] or [turn])
    )


def other_words(done: Solution) -> Iterator[Turns]:
    """The same acts in words that have nothing to do with the expert's."""
    yield done.worded(OTHER_WORDS)


def chatter(done: Solution) -> Iterator[Turns]:
    """Free text before the end, which counts for nothing."""
    yield done.before_last(AgentTurn(CHATTER))


def told_again(done: Solution) -> Iterator[Turns]:
    """All facts once more at the end, each in a turn of its own."""
    calls = [done.turns[at.turn].tool_calls[at.place] for at in done.calls("tell_customer")]
    yield done.before_last(*(AgentTurn(tool_calls=(call,)) for call in calls))


def for_the_record(done: Solution) -> Iterator[Turns]:
    """Two orders with the total that was last read, told at the end without being asked."""
    # what was read last is what is true last
    read = {event.order_id: event.result["total"] for event in done.calls("get_order")}

    for order_id, total in list(read.items())[-MOST_RECORDS:]:
        yield done.added(
            "tell_customer",
            about=order_id,
            total=total,
        )


REWRITES: Mapping[str, Callable[[Solution], Iterator[Turns]]] = {
    rewrite.__name__: rewrite
    for rewrite in (late_writes, one_by_one, other_words, chatter, told_again, for_the_record)
}
"""How an episode is solved otherwise, by name."""


def alternatives(
    task: Task,
    transcript: Transcript,
) -> Iterator[tuple[str, Turns]]:
    """All alternatives of a solved episode that differ from it, by the name of the rewrite."""
    done = Solution(task, transcript)

    for name, rewrite in REWRITES.items():
        yield from ((name, turns) for turns in rewrite(done) if turns != done.turns)
