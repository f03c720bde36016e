"""Faults of the world that are planted in its answers: corrupted, stale, an error. They are no
mistake of the agent.
"""

import re
from collections.abc import Callable, Mapping
from random import Random

import msgspec

from synth.rollout.start import Alter
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from synth.synthesizers.failures.site import InjectionPoint
from synth.text.provenance.effect import TALKING_VERBS, effectful_by_name, first_word
from synth.text.provenance.seen import stands

ERROR_TEXT = "error: the tool gave no answer in time"
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])")
_WORDED = re.compile(r'(?<=": ")[^"]{3,60}(?=")|(?<=":")[^"]{3,60}(?=")')


class Planting(msgspec.Struct, frozen=True):
    """An answer of the recorded turn and what stands in its place; `wrong` is the false value,
    where there is one.
    """

    kind: str
    old: Observation
    new: Observation
    wrong: str | None
    what: str

    def alter(self) -> Alter:
        """What shows the agent the new answer wherever the world gives the old one."""

        def altered(given: tuple[Observation, ...]) -> tuple[Observation, ...]:
            return tuple(self._in_place_of(observation) for observation in given)

        return altered

    def _in_place_of(self, given: Observation) -> Observation:
        if (given.content, given.call_id, given.source) != (
            self.old.content,
            self.old.call_id,
            self.old.source,
        ):
            return given
        return msgspec.structs.replace(given, content=self.new.content, error=self.new.error)


Plant = Callable[[InjectionPoint, Random], Planting | None]


def corrupted(site: InjectionPoint, random: Random) -> Planting | None:
    """One value of an answer is garbled: a digit of a number is another, or a quoted word stands
    backwards.
    """
    for old in _answers(site.turn, random):
        numbers = list(_NUMBER.finditer(old.content))
        words = [] if numbers else list(_WORDED.finditer(old.content))
        if not numbers and not words:
            continue
        match = random.choice(numbers or words)
        wrong = _other(match[0], random)
        content = old.content[: match.start()] + wrong + old.content[match.end() :]
        return Planting(
            "corrupted",
            old,
            msgspec.structs.replace(old, content=content),
            wrong,
            f"shows {wrong} in place of {match[0]}",
        )
    return None


def stale(site: InjectionPoint, random: Random) -> Planting | None:
    """An earlier answer of the same tool: to the same call where it was made before, else to
    another one.
    """
    for old in _answers(site.turn, random):
        call = _call_of(site.turn, old)
        if call is None:
            continue
        before = [
            (turn.index, _call_of(turn, o), o) for turn in site.before for o in _answers(turn, None)
        ]
        alike = [
            (at, c, o)
            for at, c, o in before
            if c is not None and c.name == call.name and o.content != old.content and not o.error
        ]
        same = [
            found
            for found in alike
            if found[1] is not None and found[1].arguments == call.arguments
        ]
        if same or alike:
            at, _, earlier = (same or alike)[-1]
            return Planting(
                "stale",
                old,
                msgspec.structs.replace(old, content=earlier.content),
                None,
                f"shows the answer of turn {at}",
            )
    return None


def tool_error(site: InjectionPoint, random: Random) -> Planting | None:
    """The tool seems to have failed, though it has done its work."""
    for old in _answers(site.turn, random):
        return Planting(
            "tool_error",
            old,
            msgspec.structs.replace(old, content=ERROR_TEXT, error=True),
            None,
            "shows an error of the tool",
        )
    return None


PLANTS: Mapping[str, Plant] = {"corrupted": corrupted, "stale": stale, "tool_error": tool_error}


def _answers(turn: Turn, random: Random | None) -> list[Observation]:
    """The answers of tools that are no errors, in a drawn order."""
    found = [
        o
        for o in turn.observations
        if o.source is Source.TOOL and not o.error and o.content.strip() and o.planted is None
    ]
    if random is not None:
        random.shuffle(found)
    return found


def _call_of(turn: Turn, observation: Observation) -> ToolCall | None:
    return next((call for call in turn.tool_calls if call.call_id == observation.call_id), None)


def _other(value: str, random: Random) -> str:
    """Another value of the same shape: one digit changed, or the word reversed."""
    digits = [at for at, character in enumerate(value) if character.isdigit()]
    if not digits:
        turned = value[::-1]
        return turned if turned != value else value + value[-1]
    at = random.choice(digits)
    return f"{value[:at]}{(int(value[at]) + random.randint(1, 9)) % 10}{value[at + 1 :]}"


ESCALATING_VERBS = frozenset(["escalate", "transfer", "handoff", "hand", "report", "notify"])
_ASKING_VERBS = frozenset({"ask"})


class Reaction(msgspec.Struct, frozen=True):
    """`kind`: re_reads | escalates | proceeds | stops; `turn` it shows in; `uses` whether it acts
    on or tells the false value then.
    """

    kind: str
    turn: int | None
    uses: bool | None


def reaction(
    trajectory: Trajectory, turn: int, call: ToolCall | None, wrong: str | None
) -> Reaction:
    """The first turn after `turn` that shows one: the same call again, a handing over, else a write
    or a statement.

    `call`: whose answer was altered. An agent that ends without any of them stops.
    """
    for later in trajectory.turns[turn + 1 :]:
        if call is not None and any(
            (c.name, c.arguments) == (call.name, call.arguments) for c in later.tool_calls
        ):
            return Reaction("re_reads", later.index, uses=False)
        if any(first_word(c.name) in ESCALATING_VERBS for c in later.tool_calls):
            return Reaction("escalates", later.index, uses=False)
        speaks = bool(later.content) and not later.tool_calls
        acts = [
            c
            for c in later.tool_calls
            if effectful_by_name(c.name) or first_word(c.name) in TALKING_VERBS - _ASKING_VERBS
        ]
        if speaks or acts:
            return Reaction("proceeds", later.index, uses=_uses(trajectory, later.index, wrong))
    return Reaction("stops", None, uses=None)


def _uses(trajectory: Trajectory, start: int, wrong: str | None) -> bool | None:
    """Whether the false value stands in what the agent does or says from there on; None where there
    is no single one.
    """
    if wrong is None:
        return None
    said = [
        text
        for turn in trajectory.turns[start:]
        for text in (turn.content or "", *(call.arguments for call in turn.tool_calls))
    ]
    return any(
        stands(text.casefold(), wrong.casefold(), number=wrong.replace(".", "").isdigit())
        for text in said
    )
