"""One signal, and how often those of a kind make it severe."""

import msgspec

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
