"""What the writes of a window are about: one topic per order, and per note, in the order in which
they were begun.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from synth.envs.storefront.tools.event_log import Event
from synth.envs.storefront.tools.schemas import WRITES
from synth.envs.storefront.world.policy import Call
from synth.schemas.reverse import NoGoal, Operation


@dataclass(slots=True)
class Topic:
    """What was done with one order (None: with none), or noted on a ticket; `rule` is the one by
    which a tool refused it, if it did.
    """

    order_id: str | None
    ticket_id: str | None = None
    calls: list[Call] = field(default_factory=list)
    rule: str | None = None

    @property
    def tools(self) -> set[str]:
        """The tools of its writes."""
        return {tool for tool, _ in self.calls}


def topics(operations: Sequence[Operation], walk: Sequence[Event]) -> list[Topic] | NoGoal:
    """The writes by order; no goal where an order was written on twice, as if of one request (a
    return and its refund are one). What failed otherwise than by a rule was not to be done at all.
    """
    found: dict[tuple[str | None, str | None], Topic] = {}
    turns = {operation.at for operation in operations}

    for event in walk:
        done = event.kind == "call" or event.refused_by is not None

        # a stumbled call was made again: only what was done, or refused by a rule, was meant
        if event.turn in turns and event.tool in WRITES and event.place >= 0 and done:
            of = (
                event.order_id,
                event.arguments.get("ticket_id"),
            )

            topic = found.setdefault(of, Topic(*of))
            topic.calls.append((event.tool, event.arguments))
            topic.rule = topic.rule or event.refused_by

    for topic in found.values():
        # one tool twice is two wishes for one order, of which the later undid the first
        again = len(topic.tools) < len(topic.calls)

        if again or (topic.rule is not None and len(topic.calls) > 1):
            return NoGoal("order_written_twice")

    return list(found.values()) or NoGoal("nothing_asked_for")
