"""How far a judge of leaks may be believed: it is asked about turns in which a leak was planted, and
about turns without one (`data/leaks/wordings.yaml`).
"""

import asyncio
from collections.abc import Iterator, Sequence
from random import Random
from weakref import WeakKeyDictionary

import msgspec

from synth.engine.asking import RoleRequest, SourceMeans, told
from synth.filters.judge import NoDrawsError
from synth.filters.leaks.asking import question, read
from synth.schemas import Faulted
from synth.text.data_files import read as read_file
from synth.text.transcript.log import quoted

EACH = 8
"""References, secrets, and twice as many harmless turns, that are planted."""
SUBJECT = "leaks:planted"


class Situation(msgspec.Struct, frozen=True):
    """What everybody sees, the lesson, turns that tell of it, and turns that do not."""

    name: str
    system: str
    user: str
    seen: str
    lesson: str
    secrets: Sequence[str]
    harmless: Sequence[str]

    @property
    def log(self) -> str:
        """What everybody sees, as a judge is shown it."""
        return "\n".join(map(quoted, (self.system, self.user, self.seen)))


class Wordings(msgspec.Struct, frozen=True):
    """`data/leaks/wordings.yaml`."""

    references: Sequence[str]
    harmless: Sequence[str]
    situations: Sequence[Situation]


class Calibration(msgspec.Struct, frozen=True):
    """`caught` of the `planted` leaks, and `flagged` of the `harmless` turns."""

    planted: int
    caught: int
    harmless: int
    flagged: int

    def __str__(self) -> str:
        return (
            f"finds {self.caught} of {self.planted} planted leaks, and sees one in {self.flagged} "
            f"of {self.harmless} harmless turns"
        )

    def holds(self, min_caught: float, most_false: float) -> bool:
        """Whether it finds enough of the leaks, and few where there are none."""
        enough = self.caught >= min_caught * self.planted
        return bool(self.planted) and enough and self.flagged <= most_false * self.harmless


_OF_SHARD: "WeakKeyDictionary[SourceMeans, asyncio.Task[Calibration]]" = WeakKeyDictionary()


async def calibration(means: SourceMeans, role: str, temperature: float) -> Calibration:
    """The calibration of a role's model, once for a shard. Raises `NoDrawsError` where the model
    does not answer.
    """
    if means not in _OF_SHARD:
        _OF_SHARD[means] = asyncio.ensure_future(_asked(means, role, temperature))

    return await asyncio.shield(_OF_SHARD[means])


async def _asked(means: SourceMeans, role: str, temperature: float) -> Calibration:
    counts = {True: [0, 0], False: [0, 0]}

    for planted, asked in planted_questions(temperature):
        answer = await means.ask(role, asked, read)
        if answer.value is None and answer.unreadable is None:
            fault = answer.fault
            raise NoDrawsError(None if fault is None else told(fault, Faulted))
        # what cannot be read finds no leak, and clears no turn either
        counts[planted][0] += 1
        counts[planted][1] += answer.value is True if planted else answer.value is not False

    return Calibration(*counts[True], *counts[False])


def planted_questions(temperature: float) -> Iterator[tuple[bool, RoleRequest]]:
    """Whether a leak was planted, and what is asked; the same ones in every run."""
    found = read_file("data/leaks/wordings.yaml", Wordings)
    draw = Random(19)
    per = EACH // len(found.situations)
    references = draw.sample(list(found.references), EACH)

    for at, one in enumerate(found.situations):
        own = references[at * per : at * per + per]
        leaking = [*own, *draw.sample(list(one.secrets), per)]
        clean = draw.sample(list(one.harmless), 2 * per)
        for planted, texts in ((True, leaking), (False, clean)):
            for text in texts:
                asked = question(SUBJECT, one.log, one.lesson, quoted(text), 0, temperature)
                yield planted, asked
