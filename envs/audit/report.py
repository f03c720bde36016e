"""What an audit found: one answer per question, each with its findings and the numbers behind
them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from synth.engine.table import Table
from synth.envs.conformance.finding import AuditLimits as AuditLimits
from synth.envs.conformance.finding import QuestionFinding


@dataclass(frozen=True)
class AuditAnswer:
    """A question's findings; `tables` is the evidence; `headline` names the findings that tell most
    where all is well.
    """

    name: str
    asked: str
    findings: tuple[QuestionFinding, ...]
    tables: tuple[Table, ...]
    seconds: float
    headline: tuple[str, ...] = ()

    @property
    def passed(self) -> bool | None:
        """False where any part failed, None where none could be asked."""
        verdicts = [finding.passed for finding in self.findings]
        return False if False in verdicts else True if True in verdicts else None

    @property
    def result(self) -> str:
        """What failed, else what was measured, in one line."""

        if self.passed is False:
            return "; ".join(f"{f.name}: {f.detail}" for f in self.findings if f.passed is False)
        wanted = [
            f.detail
            for f in self.findings
            if f.detail and f.passed is self.passed and f.name in (self.headline or (f.name,))
        ]

        return "; ".join(dict.fromkeys(wanted)) or "as it should be"


@dataclass(frozen=True)
class Report:
    """All answers about one environment with one set of settings."""

    world: str
    version: str
    licence: str
    settings: Mapping[str, Any]
    seed: int
    tasks: int
    answers: Sequence[AuditAnswer]

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the questions that the environment failed."""
        return tuple(answer.name for answer in self.answers if answer.passed is False)

    @property
    def verdict(self) -> str:
        """The report in one sentence."""

        asked = len(self.answers)
        passed = sum(answer.passed is True for answer in self.answers)
        not_asked = [answer.name for answer in self.answers if answer.passed is None]
        rest = f" Could not be asked: {', '.join(not_asked)}." if not_asked else ""
        if not self.failed:
            return f"Sound: {passed} of {asked} questions passed, none failed.{rest}"
        names = ", ".join(self.failed)

        return f"Not sound: {len(self.failed)} of {asked} questions failed ({names}).{rest}"

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""

        plain: dict[str, Any] = msgspec.to_builtins(self)
        answers = plain.pop("answers")
        for answer, found in zip(self.answers, answers, strict=True):
            del found["headline"]
            found |= {"passed": answer.passed, "result": answer.result}
            found |= {"seconds": round(answer.seconds, 3), "parts": found.pop("findings")}

        return {
            **plain,
            "passed": not self.failed,
            "failed": list(self.failed),
            "verdict": self.verdict,
            "questions": answers,
        }
