"""What the linter says of a trajectory: findings by argument, choices among siblings, counts."""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from synth.schemas import Scalar


class Status(StrEnum):
    """How an argument is justified; `exempt` is free text and emptiness, which are not judged."""

    OBSERVED = "observed"
    COMPUTED = "computed"
    SCHEMA = "schema"
    UNJUSTIFIED = "unjustified"
    EXEMPT = "exempt"


class Sighting(msgspec.Struct, frozen=True):
    """Where a value was first seen, or what it was computed from.

    `turn` None = before the first turn; `source` = system, schema, user, environment or
    `tool:NAME`; `detail` = the computation.
    """

    turn: int | None
    source: str
    detail: str | None = None


class ArgumentFinding(msgspec.Struct, frozen=True):
    """One scalar argument of an effectful call.

    `call` is its place in the turn, `path` its place in the arguments.
    """

    turn: int
    call: int
    tool: str
    path: str
    value: Scalar
    status: Status
    where: Sighting | None = None


class Choice(msgspec.Struct, frozen=True):
    """An argument that names one of several siblings in view.

    `candidates` = k that nothing tells apart, 1 where it was singled out. `proposed`: the agent had
    named it in a turn that a person answered. An assent to one candidate tells nothing apart, so it
    does not count here; who wants it to count drops these.
    """

    turn: int
    call: int
    tool: str
    path: str
    value: str
    siblings: int
    candidates: int
    why: str
    proposed: bool = False

    @property
    def unjustified(self) -> bool:
        """Whether the agent took one of several that fit equally well."""
        return self.candidates > 1


class ProvenanceReport(msgspec.Struct, frozen=True):
    """All findings and choices, in the order of the calls.

    `justified` and `choices_justified` are None where nothing was judged (no effectful call with an
    argument that counts).
    """

    findings: tuple[ArgumentFinding, ...] = ()
    choices: tuple[Choice, ...] = ()

    @property
    def counts(self) -> Mapping[str, int]:
        """Findings by status, and `unjustified_choice`."""
        counted = Counter(finding.status for finding in self.findings)
        return {
            **{status.value: counted[status] for status in Status},
            "unjustified_choice": sum(choice.unjustified for choice in self.choices),
        }

    @property
    def justified(self) -> bool | None:
        """Whether every judged argument has a source."""
        judged = any(finding.status is not Status.EXEMPT for finding in self.findings)
        return not self.unjustified if judged else None

    @property
    def choices_justified(self) -> bool | None:
        """Whether every choice among siblings was singled out."""
        return not any(choice.unjustified for choice in self.choices) if self.choices else None

    @property
    def unjustified(self) -> tuple[ArgumentFinding, ...]:
        """The findings without a source."""
        return tuple(finding for finding in self.findings if finding.status is Status.UNJUSTIFIED)
