"""A note that a customer asks for, word for word on a ticket of theirs: notes are free, but not
where one is asked for.
"""

from collections.abc import Iterator, Sequence
from random import Random

from synth.envs.storefront.audit.edits import added, changed, dropped, succeeded
from synth.envs.storefront.customer.script import Request
from synth.envs.storefront.reverse.matters import Matter
from synth.envs.storefront.tasks.intents import Draw, Intent
from synth.envs.storefront.tools.transcript import Exchange
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Check, RowPredicate
from synth.schemas.environment import AgentTurn
from synth.schemas.reverse import NoGoal

NOTES = ("notes/*/*",)
"""The free facts that such a goal is about."""
STILL_FREE = ("notes/*/created",)


def note(
    matter: Matter,
    name: str,
    number: int,
    config: StorefrontConfig,
    base: BaseWorld,
    customer_id: str,
) -> Intent | NoGoal:
    """The request of this number; `name` seeds the words."""
    (write,) = matter.writes
    ticket_id, text = str(matter.ticket_id), str(write.arguments["text"])
    if ticket_id not in base.tickets_of.get(customer_id, ()):
        return NoGoal("note_on_another_ticket")
    draw = Draw(Random(name), config, base, number, customer_id)
    said = draw.words("note", ticket_id=ticket_id, text=text)
    request = Request(number, "note", said, ticket_id=ticket_id, note=text)
    return Intent(
        request,
        required=(RowPredicate("notes", {"ticket_id": ticket_id, "text": text}),),
        free=STILL_FREE,
    )


def wrong_notes(
    check: Check, exchanges: Sequence[Exchange], base: BaseWorld
) -> Iterator[tuple[str, Sequence[AgentTurn]]]:
    """Solutions of a task that asks for a note with one wrong: missing, other words, another
    ticket, one note more, the same one twice.
    """
    if not any(row.table == "notes" for row in check.required):
        return
    for place in succeeded(exchanges):
        if place.tool != "add_note":
            continue
        ticket_id, text = str(place.arguments["ticket_id"]), str(place.arguments["text"])
        other = next(key for key in base.tables["tickets"] if key != ticket_id)
        yield "missing_note", dropped(exchanges, [place])
        yield "other_words", changed(exchanges, place, text="The customer called.")
        yield "half_the_words", changed(exchanges, place, text=text[: len(text) // 2])
        yield "other_ticket", changed(exchanges, place, ticket_id=other)
        yield (
            "note_as_well",
            added(exchanges, "add_note", tries=2, ticket_id=other, text="The customer called."),
        )
        yield "noted_twice", added(exchanges, "add_note", tries=2, ticket_id=ticket_id, text=text)
