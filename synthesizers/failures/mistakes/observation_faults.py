"""Plants faults in the environment's answers: corrupted, stale, an error. The agent makes no
mistake in these.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random

import msgspec

from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from synth.synthesizers.failures.mistakes.point import InjectionPoint
from synth.text.provenance.effect import TALKING_VERBS, effectful_by_name, first_word
from synth.text.provenance.seen import stands

ERROR_TEXT = "error: the tool gave no answer in time"
ESCALATING_VERBS = frozenset({"escalate", "transfer", "handoff", "hand", "report", "notify"})
_TELLING_VERBS = TALKING_VERBS - {"ask"}
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])")
_WORDED = re.compile(r'(?<=": ")[^"]{3,60}(?=")|(?<=":")[^"]{3,60}(?=")')


class Planting(msgspec.Struct, frozen=True):
    """An answer of the recorded turn and its replacement; `wrong` is the false value, where there
    is one.
    """

    kind: str
    old: Observation
    new: Observation
    wrong: str | None
    what: str

    def altered(self, given: Sequence[Observation]) -> tuple[Observation, ...]:
        """Replaces the old answer wherever the environment gives it."""
        return tuple(
            msgspec.structs.replace(seen, content=self.new.content, error=self.new.error)
            if _told(seen) == _told(self.old)
            else seen
            for seen in given
        )

    def answered(self, turn: Turn) -> ToolCall | None:
        """The call whose answer is replaced."""
        return _call_of(turn, self.old)


Plant = Callable[[InjectionPoint, Random], Planting | None]


def corrupted(site: InjectionPoint, random: Random) -> Planting | None:
    """Garbles one value of an answer: changes a digit of a number, or reverses a quoted word."""
    for old in _drawn_answers(site.turn, random):
        numbers = list(_NUMBER.finditer(old.content))
        found = numbers or list(_WORDED.finditer(old.content))
        if found:
            match = random.choice(found)
            wrong = _other(match[0], random)
            content = old.content[: match.start()] + wrong + old.content[match.end() :]
            new = msgspec.structs.replace(old, content=content)
            what = f"shows {wrong} in place of {match[0]}"
            return Planting("corrupted", old, new, wrong, what)
    return None


def stale(site: InjectionPoint, random: Random) -> Planting | None:
    """Replaces an answer by an earlier one of the same tool: to the same call where there is one,
    else to another.
    """

    for old in _drawn_answers(site.turn, random):
        call = _call_of(site.turn, old)
        alike = [
            (turn.index, before, seen)
            for turn in site.before
            for seen in _answers(turn)
            if call is not None
            and (before := _call_of(turn, seen)) is not None
            and before.name == call.name
            and seen.content != old.content
        ]
        same = [one for one in alike if call is not None and one[1].arguments == call.arguments]
        if alike:
            at, _, earlier = (same or alike)[-1]
            new = msgspec.structs.replace(old, content=earlier.content)
            return Planting(
                "stale",
                old,
                new,
                None,
                f"shows the answer of turn {at}",
            )
    return None


def tool_error(site: InjectionPoint, random: Random) -> Planting | None:
    """Reports an error of the tool, though it has done its work."""
    for old in _drawn_answers(site.turn, random)[:1]:
        new = msgspec.structs.replace(old, content=ERROR_TEXT, error=True)
        return Planting(
            "tool_error",
            old,
            new,
            None,
            "shows an error of the tool",
        )
    return None


PLANTS: Mapping[str, Plant] = {
    "corrupted": corrupted,
    "stale": stale,
    "tool_error": tool_error,
}


def _told(seen: Observation) -> tuple[object, ...]:
    """The parts of an answer that tell it from others."""
    return seen.content, seen.call_id, seen.source


def _answers(turn: Turn) -> list[Observation]:
    """The answers of tools, without errors."""
    return [
        seen
        for seen in turn.observations
        if seen.source is Source.TOOL
        and not seen.error
        and seen.content.strip()
        and seen.planted is None
    ]


def _drawn_answers(turn: Turn, random: Random) -> list[Observation]:
    """The answers of a turn in a drawn order."""
    found = _answers(turn)
    random.shuffle(found)
    return found


def _call_of(turn: Turn, seen: Observation) -> ToolCall | None:
    """The call that an answer belongs to."""
    return next(
        (call for call in turn.tool_calls if call.call_id == seen.call_id),
        None,
    )


def _other(value: str, random: Random) -> str:
    """Another value of the same shape: one digit changed, or the word reversed."""
    digits = [at for at, character in enumerate(value) if character.isdigit()]
    if not digits:
        turned = value[::-1]
        return turned if turned != value else value + value[-1]
    at = random.choice(digits)
    return f"{value[:at]}{(int(value[at]) + random.randint(1, 9)) % 10}{value[at + 1 :]}"


class Reaction(msgspec.Struct, frozen=True):
    """The agent's reaction. `kind`: re_reads, escalates, proceeds or stops; `turn`: of the
    reaction; `uses`: whether the agent acts on or repeats the false value from there on.
    """

    kind: str
    turn: int | None
    uses: bool | None


def scripted_reaction(
    trajectory: Trajectory,
    turn: int,
    call: ToolCall | None,
    wrong: str | None,
) -> Reaction:
    """Finds the first turn after `turn` with a reaction: the call (`call`, whose answer was
    replaced) made again, an escalation, else a write or a statement. An agent that ends without any
    of them stops.
    """

    for later in trajectory.turns[turn + 1 :]:
        made = [(one.name, one.arguments) for one in later.tool_calls]
        words = {first_word(name) for name, _ in made}
        if call is not None and (call.name, call.arguments) in made:
            return Reaction("re_reads", later.index, uses=False)
        if words & ESCALATING_VERBS:
            return Reaction("escalates", later.index, uses=False)

        speaks = bool(later.content) and not made
        if speaks or words & _TELLING_VERBS or any(effectful_by_name(name) for name, _ in made):
            return Reaction(
                "proceeds",
                later.index,
                uses=_uses(trajectory, later.index, wrong),
            )
    return Reaction("stops", None, uses=None)


def _uses(trajectory: Trajectory, start: int, wrong: str | None) -> bool | None:
    """Whether the agent uses the false value from `start` on; None where there is no single one."""
    if wrong is None:
        return None
    number = wrong.replace(".", "").isdigit()
    return any(
        stands(text.casefold(), wrong.casefold(), number=number)
        for turn in trajectory.turns[start:]
        for text in (
            turn.content or "",
            *(call.arguments for call in turn.tool_calls),
        )
    )
