"""A trajectory as the rows that signals are looked for in: what a person said, what the agent said,
calls, answers.
"""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from synth.schemas.canonical import canonical_json
from synth.schemas.messages import SYSTEM_NAME
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory

SEVERITIES = (0, 1, 1, 2, 2, 3)
"""By count; from 5 on the last."""


class Signal(msgspec.Struct, frozen=True):
    """`kind` is category and type (`disengagement.quit`); `at` the row, `turn` the trajectory's;
    `what` is our words, never the text.
    """

    kind: str
    at: int
    turn: int | None
    confidence: float = 1.0
    what: str = ""

    @property
    def category(self) -> str:
        """misalignment, stagnation, disengagement, satisfaction, failure, loops or exhaustion."""
        return self.kind.partition(".")[0]


def severity(count: int) -> int:
    """0 to 3."""
    return SEVERITIES[min(count, len(SEVERITIES) - 1)]


Role = Literal["human", "agent", "call", "answer"]
LAST = 100
"""Rows that are looked at: the last ones."""
_CONTROL = re.compile(r"\s*#{2,}\s*[A-Z_ -]+\s*#{2,}\s*")
_FAILING = re.compile(
    r"\s*(?:error|traceback|exception|failed|invalid|unknown|http\s*[45]\d\d|[45]\d\d\b)",
    re.IGNORECASE,
)
_FAILING_KEY = re.compile(
    r'\s*\{\s*"(?:error|exception|errors)"\s*:\s*(?!null|""|\[\]|\{\}|false)', re.IGNORECASE
)


class SignalRow(msgspec.Struct, frozen=True):
    """One row; `at` counts all rows of the trajectory, `turn` is None before the first. Calls have
    a name and canonical arguments.

    `failed` of an answer: the tool marked it as an error, or it opens like one.
    """

    at: int
    turn: int | None
    role: Role
    text: str
    name: str = ""
    failed: bool = False


def rows(trajectory: Trajectory, *, corrected: bool) -> list[SignalRow]:
    """The last `LAST` rows. `corrected`: control signals of simulators (`###STOP###`) are nobody's
    words, and what a world says in the
    role of a user is an answer.
    """
    found: list[SignalRow] = []
    for observation in trajectory.opening:
        found += _heard(observation, len(found), None, corrected)
    for turn in trajectory.turns:
        if turn.content:
            found.append(SignalRow(len(found), turn.index, "agent", turn.content))
        for call in turn.tool_calls:
            found.append(SignalRow(len(found), turn.index, "call", _arguments(call), call.name))
        for observation in turn.observations:
            found += _heard(observation, len(found), turn.index, corrected)
    return found[-LAST:]


def _heard(
    observation: Observation, at: int, turn: int | None, corrected: bool
) -> Iterator[SignalRow]:
    text = observation.content
    if observation.source is Source.ENVIRONMENT and observation.name == SYSTEM_NAME:
        return
    if observation.source is Source.TOOL or (
        corrected and observation.source is Source.ENVIRONMENT
    ):
        yield SignalRow(
            at,
            turn,
            "answer",
            text,
            observation.name or "",
            observation.error or opens_like_an_error(text),
        )
    elif not (corrected and _CONTROL.fullmatch(text)):
        yield SignalRow(at, turn, "human", text)


def opens_like_an_error(text: str) -> bool:
    """Whether an answer begins with an error's words, or is an object whose first key is one."""
    return _FAILING.match(text) is not None or _FAILING_KEY.match(text) is not None


def _arguments(call: ToolCall) -> str:
    """Arguments in one order of keys; text where they are no JSON object."""
    return (
        call.arguments if call.parse_error is not None else canonical_json(call.parsed()).decode()
    )
