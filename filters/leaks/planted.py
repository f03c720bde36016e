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
    """The weights of planted turns (`weight`), ascending: `secrets` tell of the lesson; and the
    gains alone, in nats per token, by which a student is known from the rules.
    """

    secrets: tuple[float, ...]
    harmless: tuple[float, ...]
    secret_gains: tuple[float, ...]
    harmless_gains: tuple[float, ...]

    def bound(self, most_false: float) -> float:
        """The least weight above which at most `most_false` of the harmless turns lie."""
        return _bound(self.harmless, most_false)

    def told(self, most_false: float) -> str:
        """What is found of the planted turns, in words."""
        bound, alone = self.bound(most_false), self._found_alone(most_false)
        caught, flagged = (sum(w > bound for w in one) for one in (self.secrets, self.harmless))
        return (
            f"finds {caught} of {len(self.secrets)} planted secrets ({alone} without the rules), "
            f"and one in {flagged} of {len(self.harmless)} harmless turns"
        )

    def holds(self, least_found: float, most_false: float) -> bool:
        """Whether the student finds enough of the secrets at that price, without the rules."""
        return self._found_alone(most_false) >= least_found * len(self.secret_gains)

    def _found_alone(self, most_false: float) -> int:
        bound = _bound(self.harmless_gains, most_false)
        return sum(gain > bound for gain in self.secret_gains)


def _bound(harmless: Sequence[float], most_false: float) -> float:
    return harmless[-1 - min(int(most_false * len(harmless)), len(harmless) - 1)]


class NotScoredError(Exception):
    """A student gave no gains of the planted turns: its message says why."""


_OF: "WeakKeyDictionary[ScoringModel, asyncio.Task[PlantedTurns]]" = WeakKeyDictionary()


async def planted_gains(scorer: ScoringModel, asked: ScoringModel) -> PlantedTurns:
    """What a student makes of the planted turns, once for a process; `asked` is the same student,
    with what is to be done around each question. Raises what that raises, and `NotScoredError`
    where its template cannot tell turns apart. What a fault has ended is asked again next time.
    """
    known = _OF.get(scorer)
    if known is None or _broken(known):
        known = _OF[scorer] = asyncio.ensure_future(_measured(asked))

    return await asyncio.shield(known)


def _broken(asked: "asyncio.Task[PlantedTurns]") -> bool:
    if not asked.done() or asked.cancelled():
        return asked.done()
    return isinstance(asked.exception(), FaultError)


def planted_situations() -> Sequence[Situation]:
    """Those that a judge is asked about too, and more by other authors."""
    files = ("data/leaks/wordings.yaml", "data/leaks/planted.yaml")
    return [one for name in files for one in read_file(name, _Situations).situations]


class _Situations(msgspec.Struct, frozen=True):
    situations: Sequence[Situation]


async def _measured(scorer: ScoringModel) -> PlantedTurns:
    planted = [
        (secret, one, text)
        for one in planted_situations()
        for secret, texts in ((True, one.secrets), (False, one.harmless))
        for text in texts
    ]
    found: dict[bool, list[tuple[float, float]]] = {True: [], False: []}

    for at in range(0, len(planted), AT_ONCE):
        some = planted[at : at + AT_ONCE]
        given = await asyncio.gather(*(_gain(scorer, one, text) for _, one, text in some))
        for (secret, *_), gain in zip(some, given, strict=True):
            found[secret].append(gain)

    sides = [[sorted(side) for side in zip(*found[one], strict=True)] for one in (True, False)]
    (secret_gains, secrets), (harmless_gains, harmless) = [map(tuple, one) for one in sides]
    return PlantedTurns(secrets, harmless, secret_gains, harmless_gains)


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
