"""How far a judge of leaks may be believed: it is asked about turns in which a leak was planted,
and about turns without one (`data/leaks/wordings.yaml`).
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
AT_ONCE = 8
"""Questions at a time: half of them about leaks."""


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


class Calibration(msgspec.Struct, frozen=True, omit_defaults=True):
    """`caught` of the `planted` leaks, and `flagged` of the `harmless` turns; `failed`: it was
    asked no further, since what it had got wrong was too much already.
    """

    planted: int
    caught: int
    harmless: int
    flagged: int
    failed: bool = False

    def __str__(self) -> str:
        return (
            f"finds {self.caught} of {self.planted} planted leaks, and sees one in {self.flagged} "
            f"of {self.harmless} harmless turns{', and was asked no further' * self.failed}"
        )

    def holds(self, min_caught: float, most_false: float) -> bool:
        """Whether it finds enough of the leaks, and few where there are none."""
        enough = self.caught >= min_caught * self.planted
        few = self.flagged <= most_false * self.harmless
        return bool(self.planted) and enough and few and not self.failed


Asked = tuple[str, float, float, float]
"""The role, its temperature, and how much of what is planted it must get right."""
_OF_SHARD: "WeakKeyDictionary[SourceMeans, dict[Asked, asyncio.Task[Calibration]]]"
_OF_SHARD = WeakKeyDictionary()


async def calibration(
    means: SourceMeans, role: str, temperature: float, min_caught: float, most_false: float
) -> Calibration:
    """The calibration of a role's model, once for a shard. Raises `NoDrawsError` where the model
    does not answer.
    """
    known = _OF_SHARD.setdefault(means, {})
    key = (role, temperature, min_caught, most_false)
    if key not in known:
        known[key] = asyncio.ensure_future(_asked(means, *key))

    return await asyncio.shield(known[key])


async def _asked(
    means: SourceMeans, role: str, temperature: float, min_caught: float, most_false: float
) -> Calibration:
    """Some questions at a time, as long as the judge can still be believed in the end."""
    questions = list(planted_questions(temperature))
    total = sum(planted for planted, _ in questions)
    enough, few = min_caught * total, most_false * (len(questions) - total)
    asked, right = {True: 0, False: 0}, {True: 0, False: 0}

    for at in range(0, len(questions), AT_ONCE):
        some = questions[at : at + AT_ONCE]
        answers = await asyncio.gather(*(means.ask(role, one, read) for _, one in some))
        for (planted, _), answer in zip(some, answers, strict=True):
            if answer.value is None and answer.unreadable is None:
                fault = answer.fault
                raise NoDrawsError(None if fault is None else told(fault, Faulted))
            # what cannot be read finds no leak, and clears no turn either
            asked[planted] += 1
            right[planted] += answer.value is planted

        missed, flagged = (asked[planted] - right[planted] for planted in (True, False))
        if total - missed < enough or flagged > few:
            return Calibration(asked[True], right[True], asked[False], flagged, failed=True)

    return Calibration(asked[True], right[True], asked[False], asked[False] - right[False])


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
