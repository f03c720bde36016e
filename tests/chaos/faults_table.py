"""Rounds of one fault, added up to one row of the table."""

from collections import Counter
from dataclasses import dataclass, field

COLUMNS = (
    "fault",
    "rounds",
    "records before",
    "records after",
    "lost",
    "twice",
    "mislabelled",
    "how the run ended",
    "what the rerun did",
)


@dataclass
class FaultRow:
    """What all rounds of one fault came to; `before` and `after` count committed rows around the
    rerun.
    """

    rounds: int = 0
    before: int = 0
    after: int = 0
    lost: int = 0
    twice: int = 0
    mislabelled: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    rerun: Counter[str] = field(default_factory=Counter)

    def cells(self, fault: str) -> tuple[str, ...]:
        """As the table shows it."""
        numbers = (self.rounds, self.before, self.after, self.lost, self.twice, self.mislabelled)
        return (
            fault,
            *(f"{number:,}" for number in numbers),
            counted(self.ended),
            counted(self.rerun),
        )


class FaultsTable:
    """One row per fault, in the order in which they came."""

    def __init__(self) -> None:
        self._rows: dict[str, FaultRow] = {}

    def note(
        self,
        fault: str,
        *,
        before: int,
        after: int,
        lost: int,
        twice: int,
        mislabelled: int,
        ended: str,
        rerun: str,
    ) -> None:
        """Adds a round, and fails it where anything was lost, stands twice or has a wrong label."""
        row = self._rows.setdefault(fault, FaultRow())
        row.rounds += 1
        row.before += before
        row.after += after
        row.lost += lost
        row.twice += twice
        row.mislabelled += mislabelled
        row.ended[ended] += 1
        row.rerun[rerun] += 1
        assert (lost, twice, mislabelled) == (0, 0, 0), (
            f"{fault}: {lost} lost, {twice} twice, {mislabelled} mislabelled"
        )

    def lines(self) -> list[str]:
        """A Markdown table."""
        if not self._rows:
            return []
        cells = [row.cells(fault) for fault, row in self._rows.items()]
        return [
            "| " + " | ".join(line) + " |" for line in (COLUMNS, ("---",) * len(COLUMNS), *cells)
        ]


def counted(what: Counter[str]) -> str:
    """`12 finished, 3 killed`."""
    return "; ".join(f"{count} {name}" for name, count in what.most_common())
