"""What was found of a data set."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class ProofIssues:
    """Lines: what was proven, what could not be looked at and why, what is wrong."""

    proven: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def add(self, proven: str, failed: str | None) -> None:
        """What is wrong, or else what is proven."""
        (self.proven if failed is None else self.failed).append(failed or proven)
