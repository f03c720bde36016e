"""What an import found, counted: trajectories by format and outcome, rejections by reason, and what
of a trajectory was not understood: content that a note stands for, blocks that are kept as they
stood.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from synth.importers.conversation import LEFT_OUT, UNREAD_MASK, heard
from synth.importers.labelling.match import Matches
from synth.importers.labelling.scores import PREFIX
from synth.importers.records import Imported, Rejection, Replaced, inside
from synth.schemas import Conversation, Trajectory, Turn

SHOWN = 100_000
"""Rejections kept whole; beyond that they are counted only."""
_SIGN = " left out on import]"


@dataclass(slots=True)
class ImportTally:
    """All files of an import together, or one file while it is read: nothing of it counts before it
    is whole.
    """

    formats: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    reasons: Counter[str] = field(default_factory=Counter)
    rejections: list[Rejection] = field(default_factory=list)
    benchmarks: set[str] = field(default_factory=set)
    marks: int = 0
    replaced: list[Replaced] = field(default_factory=list)
    """Of each file with lone surrogates."""
    unread: Counter[str] = field(default_factory=Counter)
    """Content that was not understood, by its kind."""
    verdict_files: list[Path] = field(default_factory=list)
    """Files among the sources that hold verdicts of trajectories elsewhere."""
    verdicts: tuple[str, ...] = ()
    """Which score of the sources is taken for a verdict, or could be."""
    columns: set[str] = field(default_factory=set)
    """Columns that the user named and a record has."""
    unfound: tuple[str, ...] = ()
    """Columns that the user named and no record has, as lines."""
    files: int = 0
    first: str | None = None
    """The id of the first trajectory that came in."""
    seen: Counter[str] = field(default_factory=Counter)
    """Files by the format that they were read as, and by what that was told."""
    labels: Matches | None = None
    """What labels beside the trajectories were brought to, where any were given."""

    def add(self, entry: Imported, held: Trajectory) -> None:
        """Counts a trajectory that comes in, as it could be held."""
        calls = sum(len(turn.tool_calls) for turn in held.turns)
        self.first = self.first or held.trajectory_id
        counts = self.of_format(entry)
        counts.update(trajectories=1, turns=len(held.turns), tool_calls=calls)
        counts[held.outcome.value] += 1
        self.marks += len(entry.marks)
        self.unread += unread(held)
        if held.benchmark is not None:
            self.benchmarks.add(held.benchmark)

    def reject(self, rejection: Rejection) -> None:
        """Counts what does not come in."""
        self.reasons[rejection.reason] += 1
        if len(self.rejections) < SHOWN:
            self.rejections.append(rejection)

    def take(self, file: "ImportTally") -> None:
        """Adds a file that is whole."""
        self.files += 1
        self.seen.update(file.seen)
        self.columns |= file.columns
        self.first = self.first or file.first
        for name, counts in file.formats.items():
            self.formats[name].update(counts)

        self.reasons.update(file.reasons)
        self.rejections.extend(file.rejections[: max(0, SHOWN - len(self.rejections))])
        self.benchmarks |= file.benchmarks
        self.marks += file.marks
        self.unread += file.unread
        self.replaced += file.replaced

    def total(self, names: Iterable[str]) -> int:
        """Sum of some counts over all formats."""
        return sum(counts[name] for counts in self.formats.values() for name in names)

    @property
    def trajectories(self) -> int:
        """How many came in."""
        return self.total(["trajectories"])

    def of_format(self, entry: Imported) -> Counter[str]:
        """The counts of the format that an imported trajectory was in."""
        return self.formats[(entry.trajectory.source or "unknown").partition(":")[0]]


def unread(trajectory: Trajectory) -> Counter[str]:
    """How many pieces of each kind were not read."""
    spoken = Conversation(None, trajectory.opening, trajectory.turns)
    texts = [one.content for one in heard(spoken)]
    texts += [turn.content or "" for turn in trajectory.turns]
    noted = (kind for text in texts if _SIGN in text for kind in LEFT_OUT.findall(text))
    return Counter([*noted, *(kind for turn in trajectory.turns for kind in _kept(turn))])


def _kept(turn: Turn) -> Iterator[str]:
    """The kinds of the blocks of a turn that no note stands for."""
    if turn.mask != UNREAD_MASK or _SIGN in (turn.content or ""):
        return
    try:
        blocks = json.loads(turn.raw or "")
    except ValueError:
        blocks = []
    kinds = (inside(one, "type", str) for one in (blocks if isinstance(blocks, list) else []))
    yield from (kind for kind in kinds if kind)


def unfound(named: Mapping[str, str], found: set[str]) -> Iterator[str]:
    """The columns that the user named and no record has; scores are no columns of records."""
    for name, key in named.items():
        if name not in found and not key.startswith((PREFIX, "-")):
            yield f"--column {name}={key}: no record that was read has it"
