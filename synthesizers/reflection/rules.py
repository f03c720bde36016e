"""Reflectors made of rules: one reads the check's findings (gold-informed), the other sees no more
than the agent saw.

Their advice is data: `data/lessons` has a file per environment, whose scripted expert understands
the names of the lessons, a model the advice. Other environments have one advice per symptom.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

import msgspec

from synth.engine.study.shard import ShardContext
from synth.schemas.trajectory import Source, Trajectory, Turn
from synth.synthesizers.reflection.reflection import Reflect, Reflected, Reflection, ReflectorName
from synth.text.provenance.effect import effectful_by_name
from synth.text.provenance.objects import is_identifier
from synth.text.transcript.log import first_own_turn

MOST_LESSONS, MOST_SYMPTOMS = 6, 2
"""Advice about everything diagnoses nothing."""
MOST_TELLING = {
    "refused": 0,
    "unconfirmed": 0,
    "denied": 1,
    "complaint": 1,
    "repeated": 2,
}
_COMPLAINT = re.compile(
    r"\b(?:not yet|also asked|that is (?:wrong|not)|that's (?:wrong|not)|not what i|still "
    r"(?:not|waiting)|did not understand|disappoint\w*|"
    r"too long|please make an exception|complain\w*|i insist)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(r"^(?:deny|refuse|reject|decline)", re.IGNORECASE)
_ASKS = re.compile(
    r"\?\s*$|\?\"|shall i|would you like|do you (?:want|confirm)|please confirm",
    re.IGNORECASE,
)
_CHATTER = re.compile(
    r"^(?:ask|reply|say|tell|respond|escalate|finish|deny|refuse|transfer)",
    re.IGNORECASE,
)
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


@cache
def lessons_of(env: str) -> Lessons | None:
    """The advice for an environment; None where there is no file."""
    place = files("synth") / "data" / "lessons" / f"{env}.yaml"
    return msgspec.yaml.decode(place.read_bytes(), type=Lessons) if place.is_file() else None


@cache
def _in_general() -> Mapping[str, str]:
    """The advice per symptom, for environments without lessons."""
    place = files("synth") / "data" / "prompts" / "reflector" / "in_general.yaml"
    return msgspec.yaml.decode(place.read_bytes(), type=dict[str, str])


def informed_reflection(trajectory: Trajectory) -> Reflection | None:
    """Diagnoses by the check's findings; None where the attempt passed, or its check gives no
    evidence.

    It looks at gold. Its retries are tagged, and support no claim that reflection works.
    """

    check = trajectory.check_result
    known = lessons_of(trajectory.env)
    failed = [part for part in (check.parts if check is not None else ()) if not part.passed]
    lines = [line for part in failed for line in part.evidence]
    if not lines:
        return None

    names = [part.name for part in failed]
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
    known = lessons_of(trajectory.env)
    if own is None:
        return None

    found = symptoms(trajectory)
    first_write = next((turn.index for turn in trajectory.turns if _writes(turn)), own)
    unclear = Symptom("unclear", first_write, "nothing in it looks wrong by itself")
    worst = min(found, key=lambda one: MOST_TELLING[one.kind], default=unclear)
    kinds = list(dict.fromkeys([worst.kind, *(one.kind for one in found), "unclear"]))
    if known:
        names = dict.fromkeys(name for kind in kinds for name in known.of_symptom[kind])
        advice = known.named(list(names)[:MOST_LESSONS])
    else:
        advice = "; ".join(_in_general()[kind] for kind in kinds[:MOST_SYMPTOMS])

    return _failure(trajectory, f"A guess: {worst.words}.", advice, max(own, worst.turn))


def _failure(trajectory: Trajectory, cause: str, advice: str, turn: int) -> Reflection:
    """A reflection on a failure."""
    summary = f"{len(trajectory.turns)} steps, ended as {trajectory.termination.value}."
    return Reflection(summary, cause, "failure", advice, turn)


class Symptom(msgspec.Struct, frozen=True):
    """A symptom and its turn, in words without any value of the transcript."""

    kind: str
    turn: int
    words: str


def symptoms(trajectory: Trajectory) -> list[Symptom]:
    """The symptoms that an agent could have noticed itself, without any gold, by turn; those of one
    turn in the order in which they say most.
    """
    return [
        Symptom(kind, turn.index, words)
        for at, turn in enumerate(trajectory.turns)
        for kind, words in _noticed(turn, trajectory.turns[:at])
    ]


def _noticed(turn: Turn, before: Sequence[Turn]) -> Iterator[tuple[str, str]]:
    """Yields the symptoms of a turn, with their words."""
    tools = [seen for seen in turn.observations if seen.source is Source.TOOL]
    user = [seen.content for seen in turn.observations if seen.source is Source.USER]
    if any(seen.error or seen.content.startswith(("denied", "error", "Error")) for seen in tools):
        yield "refused", "a call was answered by a refusal or an error"
    if _writes(turn) and not _asked(before):
        yield (
            "unconfirmed",
            "something was changed without a question and an answer before it",
        )

    if any(_DENIES.match(call.name) for call in turn.tool_calls):
        yield "denied", "a request was denied"
    if any(map(_COMPLAINT.search, user)):
        yield "complaint", "the user was not content with the answer"
    if turn.tool_calls and _calls(turn) in map(_calls, before):
        yield "repeated", "a call was made again with the same arguments"


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
    name, else the first own turn.
    """

    own = first_own_turn(trajectory) or 0
    last = len(trajectory.turns) - 1
    named: list[int] = []

    for line in lines:
        turns = [int(turn) for turn in _IN_TURN.findall(line)]
        if not turns:
            words = _WORD.findall(line.replace("/", " "))
            turns = _first_about(trajectory.turns[own:], {w for w in words if is_identifier(w)})
        named += [turn for turn in turns if own <= turn <= last]

    return min(named, default=own)


def _first_about(turns: Sequence[Turn], things: set[str]) -> list[int]:
    """The first write that names one of the things; else the first turn that does."""
    about = [
        turn
        for turn in turns
        if any(thing in call.arguments for call in turn.tool_calls for thing in things)
    ]
    writes = [
        turn for turn in about if any(effectful_by_name(call.name) for call in turn.tool_calls)
    ]
    return [turn.index for turn in [*writes, *about]][:1]
