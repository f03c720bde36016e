"""What the tests of a derived task need from the storefront: which worlds to explore, who must
fail, what must fail and what must pass.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from synth.envs.storefront.audit import alternatives as other_solutions
from synth.envs.storefront.audit import mutants as wrong_solutions
from synth.envs.storefront.audit.bots import BOTS as EVERY
from synth.envs.storefront.audit.edits import CallPlace, added, changed, dropped, succeeded
from synth.envs.storefront.tools.transcript import Exchange, legible, until_end
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.world import BaseWorld, world_of
from synth.envs.transcript import Transcript
from synth.schemas.check import Check
from synth.schemas.environment import AgentTurn
from synth.schemas.policy import Episode, Policy
from synth.schemas.task import Task

FIRST_WORLD = 10**15
"""Explorations take place in worlds of their own: those of template tasks have small seeds."""
FAILING = ("shotgun_talker", "look_up_then_stop", "write_all")
BOTS: Mapping[str, Callable[[Episode], Policy]] = {name: EVERY[name] for name in FAILING}
"""Bots that solve no task, whatever it asks for."""


def exploring(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The settings of the world in which the exploration of a seed takes place; one that the
    settings name is kept.
    """
    given = validated(settings).world_seed
    return {**settings, "world_seed": FIRST_WORLD + seed if given is None else given}


def mutants(task: Task, transcript: Transcript) -> Iterator[tuple[str, Sequence[AgentTurn]]]:
    """Wrong solutions, one edit away from a right one."""
    exchanges, base = _exchanges(transcript), world_of(validated(task.env_config))
    yield from wrong_solutions.mutants(task, exchanges, base)
    check = task.check or Check()
    if any(row.table == "notes" for row in check.required):
        for place in succeeded(exchanges):
            if place.tool == "add_note":
                yield from _wrong_notes(exchanges, place, base)


def _wrong_notes(
    exchanges: Sequence[Exchange], place: CallPlace, base: BaseWorld
) -> Iterator[tuple[str, Sequence[AgentTurn]]]:
    """Missing, other words, another ticket, one note more, the same one twice."""
    ticket_id, text = str(place.arguments["ticket_id"]), str(place.arguments["text"])
    other = next(key for key in base.tables["tickets"] if key != ticket_id)
    words = "The customer called."
    twice = partial(added, exchanges, "add_note", tries=2)
    yield "missing_note", dropped(exchanges, [place])
    yield "other_words", changed(exchanges, place, text=words)
    yield "half_the_words", changed(exchanges, place, text=text[: len(text) // 2])
    yield "other_ticket", changed(exchanges, place, ticket_id=other)
    yield "note_as_well", twice(ticket_id=other, text=words)
    yield "noted_twice", twice(ticket_id=ticket_id, text=text)


def alternatives(task: Task, transcript: Transcript) -> Iterator[tuple[str, Sequence[AgentTurn]]]:
    """Other right solutions."""
    return other_solutions.alternatives(_exchanges(transcript))


def _exchanges(transcript: Transcript) -> list[Exchange]:
    pairs = zip(transcript.actions, transcript.responses, strict=True)
    return until_end(Exchange(legible(turn), response.observations) for turn, response in pairs)
