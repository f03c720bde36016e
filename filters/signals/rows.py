"""A trajectory as the rows that signals are looked for in: what a person said, what the agent said,
calls, answers.
"""

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from synth.schemas import SYSTEM_NAME, Observation, Source, ToolCall, Trajectory, canonical_json

Role = Literal["human", "agent", "call", "answer"]
"""Whose row it is: what a person or the agent said, a call, what was answered to one."""
LAST = 100
"""Rows that are looked at: the last ones."""
_CONTROL = re.compile(r"\s*#{2,}\s*[A-Z_ -]+\s*#{2,}\s*")
_FAILING = re.compile(
    r"\s*(?:error|traceback|exception|failed|invalid|unknown|http\s*[45]\d\d|[45]\d\d\b)"
    r'|\s*\{\s*"(?:error|exception|errors)"\s*:\s*(?!null|""|\[\]|\{\}|false)',
    re.IGNORECASE,
)
"""How an answer opens that is an error: by an error's words, or as an object whose first key is
one.
"""


class Signal(msgspec.Struct, frozen=True):
    """One sign, and where it was seen.

    `kind` is category and type (`disengagement.quit`); `at` the row, `turn` the trajectory's;
    `what` is our words, never the text. `confidence`: from 0 to 1, as the rules have it.
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

    def signal(self, kind: str, what: str, confidence: float = 1.0) -> Signal:
        """One that is seen here."""
        return Signal(kind, self.at, self.turn, confidence, what)


def rows(trajectory: Trajectory, *, corrected: bool) -> list[SignalRow]:
    """The last `LAST` rows, in the order in which they came.

    `corrected`: control signals of simulators (`###STOP###`) are nobody's
    words, and what an environment says in the role of a user is an answer.
    """
    found: list[SignalRow] = []

    # an environment's system message is what the agent is told, and no person's word
    def hear(observations: Iterable[Observation], turn: int | None) -> None:
        for heard in observations:
            text, told = heard.content, heard.source is Source.ENVIRONMENT
            if told and heard.name == SYSTEM_NAME:
                continue

            if heard.source is Source.TOOL or (corrected and told):
                row = SignalRow(len(found), turn, "answer", text, heard.name or "", _failed(heard))
                found.append(row)
            elif not (corrected and _CONTROL.fullmatch(text)):
                found.append(SignalRow(len(found), turn, "human", text))

    hear(trajectory.opening, None)
    for turn in trajectory.turns:
        if turn.content:
            found.append(SignalRow(len(found), turn.index, "agent", turn.content))

        for call in turn.tool_calls:
            found.append(SignalRow(len(found), turn.index, "call", _arguments(call), call.name))

        hear(turn.observations, turn.index)

    return found[-LAST:]


def _failed(answer: Observation) -> bool:
    """Whether an answer was marked as an error, or opens like one."""
    return answer.error or _FAILING.match(answer.content) is not None


def _arguments(call: ToolCall) -> str:
    """Arguments in one order of keys, so that equal calls are equal text; as they stand where they
    are no JSON object.
    """
    if call.parse_error is not None:
        return call.arguments
    return canonical_json(call.parsed()).decode()
