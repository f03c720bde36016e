"""How much likelier a student finds planted turns once it has read the lesson: what the gain of a
real turn is compared with.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from weakref import WeakKeyDictionary

import msgspec

from synth.boundary import FaultError
from synth.filters.leaks.calibration import Situation
from synth.schemas import Message, ScoringModel, ToolSchema
from synth.text.data_files import read as read_file
from synth.text.leaks.allusion import sentences
from synth.text.leaks.facts import Shown, facts_of
from synth.text.leaks.likelihood import WITHIN, gains
from synth.text.leaks.telling import telling_odds

RULES = 0.2
"""How much of the rules' log odds counts beside a gain: from .15 to .3 it makes little difference
on the sets that were fitted to, and without it fewer secrets are found.
"""
AT_ONCE = 8
DIGITS = 3
OTHER_TOKENS = "turns_become_other_tokens"
"""Why a turn has no gain whose tokens depend on what stands before it."""
LOOK: ToolSchema = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Shows what is there.",
        "parameters": {"type": "object", "properties": {}},
    },
}
_CALL = {"id": "c0", "type": "function", "function": {"name": "look", "arguments": "{}"}}


class PlantedTurns(msgspec.Struct, frozen=True):
    """The weights of planted turns (`weight`) that were scored, ascending: `secrets` tell of the
    lesson; and the gains alone, in nats per token, by which a student is known from the rules. `of`
    so many secrets and harmless turns there are.
    """

    secrets: tuple[float, ...] = ()
    harmless: tuple[float, ...] = ()
    secret_gains: tuple[float, ...] = ()
    harmless_gains: tuple[float, ...] = ()
    of: tuple[int, int] = (0, 0)

    def told(self, most_false: float) -> str:
        """What is found of the planted turns, in words, once all harmless ones are scored."""
        bound, alone = bound_of(self.harmless, most_false), self.found_alone(most_false)
        caught, flagged = (sum(w > bound for w in one) for one in (self.secrets, self.harmless))
        return (
            f"finds {caught} of {len(self.secrets)} planted secrets ({alone} without the rules), "
            f"and one in {flagged} of {len(self.harmless)} harmless turns"
        )

    def lighter(self, most: float) -> str:
        """How turns of at most this weight compare with what was scored, in words."""
        more = sum(one >= most for one in self.harmless)
        return f"{more} of {self.of[1]} planted harmless turns, and maybe more, weigh as much"

    def found_alone(self, most_false: float) -> int:
        """How many of the scored secrets the gains find, at a price in harmless turns."""
        bound = bound_of(self.harmless_gains, most_false)
        return sum(gain > bound for gain in self.secret_gains)


def bound_of(harmless: Sequence[float], most_false: float) -> float:
    """The least weight above which at most `most_false` of all harmless turns lie."""
    return harmless[-1 - allowed(len(harmless), most_false)]


def allowed(count: int, most_false: float) -> int:
    """How many of so many harmless turns may weigh more than the bound."""
    return min(int(most_false * count), count - 1)


class NotScoredError(Exception):
    """A student gave no gains of the planted turns: its message says why."""


Planted = tuple[Situation, str]
"""A turn, and where it is planted."""


class PlantedScores:
    """What a student makes of the planted turns, of which no more are scored than are needed to
    know what is asked; `each`: so many secrets and harmless turns of a situation.
    """

    def __init__(self, each: int) -> None:
        situations = planted_situations()
        secrets = [(one, text) for one in situations for text in one.secrets[:each]]
        harmless = [(one, text) for one in situations for text in one.harmless[:each]]
        # what is asked of harmless turns is whether many weigh much, of secrets whether some do
        harmless.sort(key=lambda turn: -_odds()[turn[0].lesson, turn[1]])
        secrets.sort(key=lambda turn: len(turn[0].system + turn[0].seen + turn[0].lesson))
        self._left = {True: secrets, False: harmless}
        self._asking: asyncio.Task[None] | None = None
        self.turns = PlantedTurns(of=(len(secrets), len(harmless)))

    async def begin(self, student: ScoringModel) -> None:
        """Scores the first turns. Raises `NotScoredError` where its template cannot tell turns
        apart, and what the student raises, as all methods do.
        """
        if not self.turns.harmless:
            await self._further(False, student)

    async def outweighs(self, weight: float, most_false: float, student: ScoringModel) -> bool:
        """Whether a weight lies above the bound that `most_false` of the harmless turns exceed."""
        may = allowed(self.turns.of[1], most_false)
        while sum(one >= weight for one in self.turns.harmless) <= may:
            if not self._left[False]:
                return True
            await self._further(False, student)

        return False

    async def hear(self, least_found: float, most_false: float, student: ScoringModel) -> bool:
        """Whether the student by itself, without the rules, finds enough of the secrets."""
        while self._left[False]:
            await self._further(False, student)

        enough = least_found * self.turns.of[0]
        while (found := self.turns.found_alone(most_false)) < enough:
            if found + len(self._left[True]) < enough:
                return False
            await self._further(True, student)

        return True

    async def _further(self, secret: bool, student: ScoringModel) -> None:
        """Scores some more turns, for all who wait; what a fault has ended is asked again."""
        if self._asking is None:
            self._asking = asyncio.ensure_future(self._score(secret, student))
        await asyncio.shield(self._asking)

    async def _score(self, secret: bool, student: ScoringModel) -> None:
        try:
            some = self._left[secret][:AT_ONCE]
            given = await asyncio.gather(*(_gain(student, one, text) for one, text in some))
        finally:
            self._asking = None

        del self._left[secret][:AT_ONCE]
        found, side = self.turns, "secret" if secret else "harmless"
        gains, weights = zip(*given, strict=True)
        whole = "secrets" if secret else side
        self.turns = msgspec.structs.replace(
            found,
            **{
                f"{side}_gains": tuple(sorted((*getattr(found, f"{side}_gains"), *gains))),
                whole: tuple(sorted((*getattr(found, whole), *weights))),
            },
        )


_OF: "WeakKeyDictionary[ScoringModel, dict[int, PlantedScores]]" = WeakKeyDictionary()


def planted_scores(scorer: ScoringModel, each: int) -> PlantedScores:
    """What is known of a student, once for a process."""
    known = _OF.setdefault(scorer, {})
    if each not in known:
        known[each] = PlantedScores(each)

    return known[each]


def planted_situations() -> Sequence[Situation]:
    """Those that a judge is asked about too, and more by other authors."""
    files = ("data/leaks/wordings.yaml", "data/leaks/planted.yaml")
    return [one for name in files for one in read_file(name, _Situations).situations]


class _Situations(msgspec.Struct, frozen=True):
    situations: Sequence[Situation]


async def _gain(scorer: ScoringModel, one: Situation, text: str) -> tuple[float, float]:
    """The gain of a planted turn, and its weight."""
    without = await scorer.score(chat(one, text, ""), [LOOK])
    try:
        with_help = await scorer.score(chat(one, text, one.lesson), [LOOK])
    except FaultError as fault:
        # it answers, but its template has no place for a lesson in the middle of a chat
        raise NotScoredError("takes_no_lesson") if fault.final else fault from fault

    found = gains(with_help, without, 1, WITHIN)
    if found is None or 1 not in found:
        raise NotScoredError(with_help.not_scored or without.not_scored or OTHER_TOKENS)

    weighs = weight(found[1], _odds()[one.lesson, text])
    return round(found[1], DIGITS), round(weighs, DIGITS)


@cache
def _odds() -> Mapping[tuple[str, str], float]:
    """What the rules make of each planted turn, by its lesson."""
    found: dict[tuple[str, str], float] = {}
    for one in planted_situations():
        shown, lesson = Shown(), facts_of(one.lesson)
        for seen in (one.system, one.user, one.seen):
            shown.show(seen)
        for text in (*one.secrets, *one.harmless):
            parts = sentences(text) or [text]
            found[one.lesson, text] = max(telling_odds(part, lesson, shown) for part in parts)

    return found


def weight(gain: float, odds: float) -> float:
    """The evidence that a turn tells what was whispered: its gain in nats per token, and a share of
    what the rules make of it, in nats.
    """
    return gain + RULES * odds


def chat(one: Situation, text: str, lesson: str) -> list[Message]:
    """A look at what everybody sees, the lesson where there is one, and the turn."""
    before: list[Message] = [
        {"role": "system", "content": one.system},
        {"role": "user", "content": one.user},
        {"role": "assistant", "content": None, "tool_calls": [_CALL]},
        {"role": "tool", "tool_call_id": "c0", "content": one.seen},
    ]
    told: list[Message] = [{"role": "system", "content": lesson}] if lesson else []
    return [*before, *told, {"role": "assistant", "content": text}]
