"""Reflectors made of rules: one reads the check's findings (gold-informed), the other sees no more
than the agent saw.

Their advice is data: `data/lessons` has a file per environment, whose scripted expert understands
the names of the lessons, a model the advice. Other environments have one advice per symptom.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from synth.engine.study.shard import ShardContext
from synth.schemas import Source, Trajectory, Turn
from synth.synthesizers.reflection.reflection import Reflect, Reflected, Reflection, ReflectorName
from synth.text.data_files import read
from synth.text.provenance.effect import effectful_by_name
from synth.text.provenance.objects import is_identifier
from synth.text.transcript.log import first_own_turn

MOST_LESSONS, MOST_SYMPTOMS = 6, 2
"""Advice about everything diagnoses nothing."""
UNCLEAR = "unclear"
_COMPLAINT = re.compile(
    r"(?i)\b(?:not yet|also asked|that is (?:wrong|not)|that's (?:wrong|not)|not what i|still "
    r"(?:not|waiting)|did not understand|disappoint\w*|"
    r"too long|please make an exception|complain\w*|i insist)\b"
)
_DENIES = re.compile(r"(?i)^(?:deny|refuse|reject|decline)")
_ASKS = re.compile(r"(?i)\?\s*$|\?\"|shall i|would you like|do you (?:want|confirm)|please confirm")
_CHATTER = re.compile(r"(?i)^(?:ask|reply|say|tell|respond|escalate|finish|deny|refuse|transfer)")
_IN_TURN = re.compile(r"\bin turn (\d+)\b")
_WORD = re.compile(r"[\w-]+")


class Lessons(msgspec.Struct, frozen=True):
    """Advice by name, and the names that a sign in a check's findings, or a symptom, calls for."""

    lessons: Mapping[str, str]
    of_evidence: Sequence[tuple[str, tuple[str, ...]]]
    of_symptom: Mapping[str, tuple[str, ...]]

    def named(self, names: Sequence[str]) -> str:
        """The advice of these names, each once."""
        return "; ".join(f"{name}: {self.lessons[name]}" for name in dict.fromkeys(names))


def by_rules(name: ReflectorName) -> Reflect:
    """The rule-based reflector of that name."""
    diagnose = informed_reflection if name == "rules" else blind_reflection

    async def reflect(
        shard: ShardContext, attempt: Trajectory, lessons: Sequence[str]
    ) -> Reflected:
        found = diagnose(attempt)
        return Reflected(reason="no_diagnosis") if found is None else Reflected(found)

    return reflect


def lessons_of(env: str) -> Lessons | None:
    """The advice for an environment; None where there is no file."""
    try:
        found: Lessons = read(f"data/lessons/{env}.yaml", Lessons)
    except OSError:
        return None
    return found


def informed_reflection(trajectory: Trajectory) -> Reflection | None:
    """Diagnoses by the check's findings; None where the attempt passed, or its check gives no
    evidence.

    It looks at gold. Its retries are tagged, and support no claim that reflection works.
    """

    check = trajectory.check_result
    failed = [part for part in (check.parts if check is not None else ()) if part.passed is False]
    lines = [line for part in failed for line in part.evidence]

    if not lines:
        return None

    names = [part.name for part in failed]
    known = lessons_of(trajectory.env)
    called_for = [
        name
        for sign, lessons in (known.of_evidence if known else ())
        if any(re.search(sign, line, re.IGNORECASE) for line in lines)
        for name in lessons
    ]

    advice = f"see to it that {' and '.join(names)} come out as the task asks"

    if known and called_for:
        advice = known.named(called_for)

    cause = f"The check found wrong: {', '.join(names)}."

    return _failure(trajectory, cause, advice, _where(trajectory, lines))


def blind_reflection(trajectory: Trajectory) -> Reflection | None:
    """Guesses from what the agent could see: the earliest refused call or unconfirmed write, else a
    denial, complaint or repetition.
    """

    own = first_own_turn(trajectory)
    if own is None:
        return None

    writes = (turn.index for turn in trajectory.turns if _writes(turn))
    unclear = Symptom(UNCLEAR, next(writes, own))
    found = [*symptoms(trajectory), unclear]
    worst = min(found, key=lambda one: KINDS[one.kind].rank)
    noticed = dict.fromkeys([worst.kind, *(one.kind for one in found)])

    known = lessons_of(trajectory.env)

    if known:
        names = dict.fromkeys(name for kind in noticed for name in known.of_symptom[kind])
        advice = known.named(list(names)[:MOST_LESSONS])
    else:
        advice = "; ".join([KINDS[kind].advice for kind in noticed][:MOST_SYMPTOMS])

    cause = f"A guess: {KINDS[worst.kind].what}."

    return _failure(trajectory, cause, advice, max(own, worst.turn))


def _failure(trajectory: Trajectory, cause: str, advice: str, turn: int) -> Reflection:
    """A reflection on a failure."""
    summary = f"{len(trajectory.turns)} steps, ended as {trajectory.termination.value}."
    return Reflection(summary, cause, "failure", advice, turn)


class SymptomKind(msgspec.Struct, frozen=True):
    """A kind of symptom: the lower its `rank`, the more it says; `what` it is, in words without any
    value of the transcript; general advice.
    """

    rank: int
    what: str
    advice: str


KINDS: Mapping[str, SymptomKind] = read(
    "data/prompts/reflector/symptoms.yaml", dict[str, SymptomKind]
)


class Symptom(msgspec.Struct, frozen=True):
    """A symptom and its turn."""

    kind: str
    turn: int


def symptoms(trajectory: Trajectory) -> list[Symptom]:
    """The symptoms that an agent could have noticed itself, without any gold, by turn; those of one
    turn in the order in which they say most.
    """

    found = []

    for at, turn in enumerate(trajectory.turns):
        before = trajectory.turns[:at]
        tools = [seen for seen in turn.observations if seen.source is Source.TOOL]
        user = [seen.content for seen in turn.observations if seen.source is Source.USER]
        refusals = ("denied", "error", "Error")
        shown = {
            "refused": any(one.error or one.content.startswith(refusals) for one in tools),
            "unconfirmed": _writes(turn) and not _asked(before),
            "denied": any(_DENIES.match(call.name) for call in turn.tool_calls),
            "complaint": any(map(_COMPLAINT.search, user)),
            "repeated": bool(turn.tool_calls) and _calls(turn) in map(_calls, before),
        }

        found += [Symptom(kind, turn.index) for kind, seen in shown.items() if seen]

    return found


def _asked(turns: Sequence[Turn]) -> bool:
    """Whether the agent has asked something, and been answered, in or after the last write."""
    for turn in reversed(turns):
        texts = [turn.content or "", *(call.arguments for call in turn.tool_calls)]
        answered = any(seen.source is Source.USER for seen in turn.observations)
        if answered and any(map(_ASKS.search, texts)):
            return True
        if _writes(turn):
            return False
    return False


def _calls(turn: Turn) -> list[tuple[str, str]]:
    """The calls of a turn without their ids."""
    return [(call.name, call.arguments) for call in turn.tool_calls]


def _writes(turn: Turn) -> bool:
    """Whether a turn changes something, by the names of its calls."""
    return any(
        effectful_by_name(call.name) and not _CHATTER.match(call.name) for call in turn.tool_calls
    )


def _where(trajectory: Trajectory, lines: Sequence[str]) -> int:
    """The earliest turn that the findings point to: named in them, or the first write of what they
    name, or the first turn that names it, else the first own turn.
    """

    own = first_own_turn(trajectory) or 0
    named: list[int] = []

    for line in lines:
        turns = [int(turn) for turn in _IN_TURN.findall(line)]
        if not turns:
            things = set(filter(is_identifier, _WORD.findall(line.replace("/", " "))))
            about = [
                turn
                for turn in trajectory.turns[own:]
                if any(thing in call.arguments for call in turn.tool_calls for thing in things)
            ]

            writes = (
                turn
                for turn in about
                if any(effectful_by_name(call.name) for call in turn.tool_calls)
            )

            turns = [turn.index for turn in [*writes, *about]][:1]

        named += [turn for turn in turns if own <= turn < len(trajectory.turns)]

    return min(named, default=own)
