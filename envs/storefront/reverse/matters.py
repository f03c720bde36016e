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

    @property
    def rule(self) -> str | None:
        """The rule that forbids it, None where it was done."""
        return self.writes[0].rule


def matters(operations: Sequence[Operation], walk: Sequence[Exchange]) -> list[Matter] | NoGoal:
    """The writes by order; no goal where an order was written on twice, as if of one request (a
    return and its refund are one).
    """
    found: dict[tuple[str | None, str | None], Matter] = {}
    for operation in operations:
        for write in _writes(walk[operation.at]):
            order_id, ticket_id = write.arguments.get("order_id"), write.arguments.get("ticket_id")
            found.setdefault(
                (order_id, ticket_id), Matter(order_id, ticket_id=ticket_id)
            ).writes.append(write)
    for matter in found.values():
        refused = [write for write in matter.writes if write.rule is not None]
        if len(matter.tools) < len(matter.writes) or (refused and len(matter.writes) > 1):
            return NoGoal("order_written_twice")
    return list(found.values()) or NoGoal("nothing_asked_for")


def _writes(exchange: Exchange) -> Iterator[Write]:
    """The writes of a turn that succeeded or were refused by a rule; what failed otherwise was not
    to be done at all.
    """
    tools = [
        observation for observation in exchange.observations if observation.source is Source.TOOL
    ]
    for call, observation in zip(exchange.turn.tool_calls, tools, strict=False):
        denied = REFUSED.match(observation.content) if observation.error else None
        if call.name in WRITES and (denied is not None or not observation.error):
            yield Write(
                call.name, decoded(call.arguments) or {}, denied[1] if denied is not None else None
            )
