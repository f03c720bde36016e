"""Edits of a solved episode, and the other right solutions that they make: what a check is worth is
also how few of these it fails.

An alternative is the recorded turns of an episode that passed, done in another order or said in
another form; played again it must pass.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.envs.storefront.tools.schemas import TALKS, WRITES
from synth.envs.storefront.tools.transcript import Event, decoded, event_log, until_end
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.world import world_of
from synth.envs.transcript import Transcript, edited
from synth.schemas import AgentTurn, Check, Task, ToolCall, canonical_json

Turns = tuple[AgentTurn, ...]


class SolvedTranscript:
    """A solved episode: its turns and what was done in them, its task's check, and the world at the
    start; every edit gives other turns.
    """

    def __init__(
        self,
        task: Task,
        transcript: Transcript,
    ) -> None:
        seen = [response.observations for response in transcript.responses]
        exchanges = until_end(
            zip(
                transcript.actions,
                seen,
                strict=True,
            )
        )
        self.turns: Turns = tuple(exchange.turn for exchange in exchanges)
        self.events = event_log(exchanges)
        self.task_id = task.task_id
        self.check = task.check or Check()
        self.base = world_of(validated(task.env_config))
        # two accounts of one name are one person
        self.own = {*self.base.customers_by["name"].get(str(task.script.get("name")), ())}

    def calls(self, *tools: str) -> list[Event]:
        """The calls of these tools that were answered without an error, in order."""
        return [event for event in self.events if event.kind == "call" and event.tool in tools]

    def strangers(
        self,
        status: str,
    ) -> list[str]:
        """The orders of other customers that are in this status."""
        return [
            key
            for key, row in self.base.tables["orders"].items()
            if row["status"] == status
            and self.own.isdisjoint((row["customer_id"], row["recipient_id"]))
        ]

    def requires(
        self,
        order_id: str,
        column: str,
    ) -> bool:
        """Whether the check wants a value of this column for an order."""
        return any(
            column in row.where
            and order_id in (str(value).partition(".")[0] for value in row.where.values())
            for row in self.check.required
        )

    def dropped(self, *calls: Event) -> Turns:
        """The turns without these calls; a turn that has none left is left out."""
        return edited(self.turns, {(call.turn, call.place): None for call in calls})

    def changed(self, call: Event, **arguments: Any) -> Turns:
        """The turns with other arguments of one call."""
        # an event holds decoded arguments; the edit needs the call as it was made
        made = self.turns[call.turn].tool_calls[call.place]

        return edited(self.turns, {(call.turn, call.place): _with(made, **arguments)})

    def added(self, tool: str, *, tries: int = 1, **arguments: Any) -> Turns:
        """The turns with one call more, in a turn of its own before the last; tried twice where a
        transient error could undo it.
        """
        call = ToolCall(
            "call_added",
            tool,
            canonical_json(arguments).decode(),
        )

        return self.before_last(*[AgentTurn(tool_calls=(call,))] * tries)

    def before_last(self, *turns: AgentTurn) -> Turns:
        """The turns with these before the one that ends the conversation."""
        return (*self.turns[:-1], *turns, *self.turns[-1:])

    def instead(
        self,
        call: Event,
        text: str,
    ) -> Turns:
        """The turns with free text in place of one call; a turn of several calls loses it alone."""
        at = call.turn
        calls = self.turns[at].tool_calls
        left = (*calls[: call.place], *calls[call.place + 1 :])

        return (*self.turns[:at], AgentTurn(text, left), *self.turns[at + 1 :])

    def worded(
        self,
        message: str,
    ) -> Turns:
        """The turns with this message in every call that may have one, and as every free text."""
        return tuple(
            AgentTurn(
                message if turn.content else None,
                tuple(
                    _with(call, message=message) if call.name in TALKS else call
                    for call in turn.tool_calls
                ),
            )
            for turn in self.turns
        )


def _with(call: ToolCall, **arguments: Any) -> ToolCall:
    """The call with other values for some of its arguments."""
    made = canonical_json({**(decoded(call.arguments) or {}), **arguments})

    return msgspec.structs.replace(call, arguments=made.decode())


MOST_RECORDS = 2
OTHER_WORDS = "Voici, comme convenu. Merci de votre patience."
CHATTER = "One moment, please. Shall I cancel anything else? Tell me which order, and I can do it."


def late_writes(done: SolvedTranscript) -> Iterator[Turns]:
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


def one_by_one(done: SolvedTranscript) -> Iterator[Turns]:
    """Calls of one turn in turns of their own."""
    yield tuple(
        part
        for turn in done.turns
        # a turn of words alone stays as it is
        for part in ([AgentTurn(None, (call,)) for call in turn.tool_calls] or [turn])
    )


def other_words(done: SolvedTranscript) -> Iterator[Turns]:
    """The same acts in words that have nothing to do with the expert's."""
    yield done.worded(OTHER_WORDS)


def chatter(done: SolvedTranscript) -> Iterator[Turns]:
    """Free text before the end that claims nothing."""
    yield done.before_last(AgentTurn(CHATTER))


def told_again(done: SolvedTranscript) -> Iterator[Turns]:
    """All facts once more at the end, each in a turn of its own."""
    calls = [done.turns[at.turn].tool_calls[at.place] for at in done.calls("tell_customer")]
    yield done.before_last(*(AgentTurn(tool_calls=(call,)) for call in calls))


def for_the_record(done: SolvedTranscript) -> Iterator[Turns]:
    """Two orders with the total that was last read, told at the end without being asked."""
    # what was read last is what is true last
    read = {event.order_id: event.result["total"] for event in done.calls("get_order")}

    for order_id, total in list(read.items())[-MOST_RECORDS:]:
        yield done.added(
            "tell_customer",
            about=order_id,
            total=total,
        )


REWRITES: Mapping[str, Callable[[SolvedTranscript], Iterator[Turns]]] = {
    rewrite.__name__: rewrite
    for rewrite in (late_writes, one_by_one, other_words, chatter, told_again, for_the_record)
}
"""How an episode is solved otherwise, by name."""


def alternatives(
    task: Task,
    transcript: Transcript,
) -> Iterator[tuple[str, Turns]]:
    """All alternatives of a solved episode that differ from it, by the name of the rewrite."""
    done = SolvedTranscript(task, transcript)

    for name, rewrite in REWRITES.items():
        yield from ((name, turns) for turns in rewrite(done) if turns != done.turns)
