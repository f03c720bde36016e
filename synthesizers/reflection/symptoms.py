"""What an agent could have noticed of its own failure, without any gold: refused calls, repeated
ones, writes without a yes, denials.
"""

import re
from collections.abc import Callable, Iterator

import msgspec

from synth.schemas.trajectory import Source, Trajectory, Turn
from synth.text.provenance.effect import effectful_by_name

_COMPLAINT = re.compile(
    r"\b(?:not yet|also asked|that is (?:wrong|not)|that's (?:wrong|not)|not what i|still "
    r"(?:not|waiting)|did not understand|disappoint\w*|"
    r"too long|please make an exception|complain\w*|i insist)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(r"^(?:deny|refuse|reject|decline)", re.IGNORECASE)
_ASKS = re.compile(
    r"\?\s*$|\?\"|shall i|would you like|do you (?:want|confirm)|please confirm", re.IGNORECASE
)
_CHATTER = re.compile(
    r"^(?:ask|reply|say|tell|respond|escalate|finish|deny|refuse|transfer)", re.IGNORECASE
)


class Symptom(msgspec.Struct, frozen=True):
    """What was noticed, in which turn, in words without any value of the transcript."""

    kind: str
    turn: int
    words: str


def symptoms(trajectory: Trajectory) -> list[Symptom]:
    """All of them, by turn; those of one turn in the order in which they say most."""
    found = [symptom for detect in _DETECTORS for symptom in detect(trajectory)]
    return sorted(found, key=lambda symptom: symptom.turn)


def first_write(trajectory: Trajectory) -> int | None:
    """The first turn that changes something."""
    return next((turn.index for turn in trajectory.turns if _writes(turn)), None)


def _refused(trajectory: Trajectory) -> Iterator[Symptom]:
    for turn in trajectory.turns:
        if any(
            o.error or o.content.startswith(("denied", "error", "Error"))
            for o in turn.observations
            if o.source is Source.TOOL
        ):
            yield Symptom("refused", turn.index, "a call was answered by a refusal or an error")


def _unconfirmed(trajectory: Trajectory) -> Iterator[Symptom]:
    """A write right after the agent's own question was left open, or with no question at all since
    the last write.
    """
    asked = False
    for turn in trajectory.turns:
        if _writes(turn) and not asked:
            yield Symptom(
                "unconfirmed",
                turn.index,
                "something was changed without a question and an answer before it",
            )
        if _writes(turn):
            asked = False
        texts = [turn.content or "", *(call.arguments for call in turn.tool_calls)]
        if any(_ASKS.search(text) for text in texts) and any(
            o.source is Source.USER for o in turn.observations
        ):
            asked = True


def _repeated(trajectory: Trajectory) -> Iterator[Symptom]:
    seen: set[tuple[tuple[str, str], ...]] = set()
    for turn in trajectory.turns:
        calls = tuple((call.name, call.arguments) for call in turn.tool_calls)
        if calls and calls in seen:
            yield Symptom("repeated", turn.index, "a call was made again with the same arguments")
        seen.add(calls)


def _denied(trajectory: Trajectory) -> Iterator[Symptom]:
    for turn in trajectory.turns:
        if any(_DENIES.match(call.name) for call in turn.tool_calls):
            yield Symptom("denied", turn.index, "a request was denied")


def _complaint(trajectory: Trajectory) -> Iterator[Symptom]:
    for turn in trajectory.turns:
        if any(o.source is Source.USER and _COMPLAINT.search(o.content) for o in turn.observations):
            yield Symptom("complaint", turn.index, "the user was not content with the answer")


_DETECTORS: tuple[Callable[[Trajectory], Iterator[Symptom]], ...] = (
    _refused,
    _unconfirmed,
    _denied,
    _complaint,
    _repeated,
)


def _writes(turn: Turn) -> bool:
    return any(
        effectful_by_name(call.name) and not _CHATTER.match(call.name) for call in turn.tool_calls
    )
