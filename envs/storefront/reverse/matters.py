"""What the writes of a window are about: one matter per order, and per note, in the order in which
they were begun.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from synth.envs.storefront.expert.belief import REFUSED
from synth.envs.storefront.tools.schemas import WRITES
from synth.envs.storefront.tools.transcript import Exchange, decoded
from synth.schemas.reverse import NoGoal, Operation
from synth.schemas.trajectory import Source


@dataclass(frozen=True, slots=True)
class Write:
    """A write of a window: tool, arguments, and the rule by which the tool refused it, if it
    did.
    """

    tool: str
    arguments: Mapping[str, Any]
    rule: str | None = None


@dataclass(slots=True)
class Matter:
    """What was done, or refused, with one order (None: with none), or noted on a ticket."""

    order_id: str | None
    writes: list[Write] = field(default_factory=list)
    ticket_id: str | None = None

    @property
    def tools(self) -> frozenset[str]:
        """The tools of its writes."""
        return frozenset(write.tool for write in self.writes)


def matters(operations: Sequence[Operation], walk: Sequence[Exchange]) -> list[Matter] | NoGoal:
    """The writes by order; no goal where an order was written on twice, as if of one request (a
    return and its refund are one).
    """
    found: dict[tuple[str | None, str | None], Matter] = {}
    for operation in operations:
        for write in _writes(walk[operation.at]):
            of = write.arguments.get("order_id"), write.arguments.get("ticket_id")
            found.setdefault(of, Matter(of[0], ticket_id=of[1])).writes.append(write)
    for matter in found.values():
        refused = any(write.rule is not None for write in matter.writes)
        if len(matter.tools) < len(matter.writes) or (refused and len(matter.writes) > 1):
            return NoGoal("order_written_twice")
    return list(found.values()) or NoGoal("nothing_asked_for")


def _writes(exchange: Exchange) -> Iterator[Write]:
    """The writes of a turn that succeeded or were refused by a rule; what failed otherwise was not
    to be done at all.
    """
    tools = [seen for seen in exchange.observations if seen.source is Source.TOOL]
    for call, seen in zip(exchange.turn.tool_calls, tools, strict=False):
        denied = REFUSED.match(seen.content) if seen.error else None
        if call.name in WRITES and (denied is not None or not seen.error):
            rule = None if denied is None else denied[1]
            yield Write(call.name, decoded(call.arguments) or {}, rule)
