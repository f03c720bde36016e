"""Plants faults in the environment's answers: corrupted, stale, an error. The agent makes no
mistake in these.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random

import msgspec
from msgspec.structs import replace

from synth.schemas import Observation, Source, ToolCall, Trajectory, Turn
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

    old: Observation
    new: Observation
    what: str
    wrong: str | None = None

    def altered(self, given: Sequence[Observation]) -> tuple[Observation, ...]:
        """Replaces the old answer wherever the environment gives it."""
        old = self.old
        new = self.new
        told = old.content, old.call_id, old.source

        return tuple(
            replace(seen, content=new.content, error=new.error)
            if (seen.content, seen.call_id, seen.source) == told
            else seen
            for seen in given
        )


Plant = Callable[[InjectionPoint, Random, Observation], Planting | None]
"""Replaces one answer of a turn; None where that cannot be done."""


def corrupted(
    site: InjectionPoint,
    random: Random,
    old: Observation,
) -> Planting | None:
    """Garbles one value of an answer: changes a digit of a number, or reverses a quoted word."""
    content = old.content
    found = list(_NUMBER.finditer(content)) or list(_WORDED.finditer(content))

    if not found:
        return None

    match = random.choice(found)
    right = match[0]
    digits = [at for at, character in enumerate(right) if character.isdigit()]

    if digits:
        at = random.choice(digits)
        digit = (int(right[at]) + random.randint(1, 9)) % 10
        wrong = f"{right[:at]}{digit}{right[at + 1 :]}"
    else:
        turned = right[::-1]
        wrong = turned if turned != right else right + right[-1]

    new = replace(old, content=content[: match.start()] + wrong + content[match.end() :])

    return Planting(old, new, f"shows {wrong} in place of {right}", wrong)


def stale(
    site: InjectionPoint,
    random: Random,
    old: Observation,
) -> Planting | None:
    """Replaces an answer by an earlier one of the same tool: to the same call where there is one,
    else to another.
    """

    call = call_of(site.turn, old)

    if call is None:
        return None

    alike = [
        (turn.index, before, seen)
        for turn in site.before
        for seen in _answers(turn)
        if (before := call_of(turn, seen)) is not None
        and before.name == call.name
        and seen.content != old.content
    ]

    same = [one for one in alike if one[1].arguments == call.arguments]

    if not alike:
        return None

    at, _, earlier = (same or alike)[-1]

    return Planting(old, replace(old, content=earlier.content), f"shows the answer of turn {at}")


def tool_error(
    site: InjectionPoint,
    random: Random,
    old: Observation,
) -> Planting | None:
    """Reports an error of the tool, though it has done its work."""
    new = replace(old, content=ERROR_TEXT, error=True)
    return Planting(old, new, "shows an error of the tool")


def planted(
    plant: Plant,
    site: InjectionPoint,
    random: Random,
) -> Planting | None:
    """Replaces the first answer of the turn, in a drawn order, at which that can be done."""
    answers = _answers(site.turn)
    random.shuffle(answers)
    return next(filter(None, (plant(site, random, old) for old in answers)), None)


PLANTS: Mapping[str, Callable[[InjectionPoint, Random], Planting | None]] = {
    "corrupted": partial(planted, corrupted),
    "stale": partial(planted, stale),
    "tool_error": partial(planted, tool_error),
}


def _answers(turn: Turn) -> list[Observation]:
    """The answers of tools, without errors."""
    told = (seen for seen in turn.observations if seen.source is Source.TOOL and not seen.error)
    return [seen for seen in told if seen.content.strip() and seen.planted is None]


def call_of(turn: Turn, seen: Observation) -> ToolCall | None:
    """The call that an answer belongs to."""
    return next((call for call in turn.tool_calls if call.call_id == seen.call_id), None)


class Reaction(msgspec.Struct, frozen=True):
    """The agent's reaction. `kind`: re_reads, escalates, proceeds or stops; `turn`: of the
    reaction; `uses`: whether the agent acts on or repeats the false value from there on.
    """

    kind: str
    turn: int | None
    uses: bool | None


def scripted_reaction(
    trajectory: Trajectory, turn: int, call: ToolCall | None, wrong: str | None
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
            uses = None if wrong is None else _uses(trajectory, later.index, wrong)
            return Reaction("proceeds", later.index, uses)

    return Reaction("stops", None, uses=None)


def _uses(
    trajectory: Trajectory,
    start: int,
    wrong: str,
) -> bool:
    """Whether the agent uses the false value from `start` on."""
    number = wrong.replace(".", "").isdigit()
    texts = (
        text
        for turn in trajectory.turns[start:]
        for text in (turn.content or "", *(call.arguments for call in turn.tool_calls))
    )

    return any(
        stands(
            text.casefold(),
            wrong.casefold(),
            number=number,
        )
        for text in texts
    )
