"""Which library and kind comes next, so that a pool comes to its shares."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.making.kinds import BugKind
from synth.envs.repo.pool import Library, base_of

FEWEST_MISSES, MISSES_PER_TASK = 30, 8
"""Edits in a row that make no task, after which a lane is left: at least, and for each task that is
wanted of it.
"""


@dataclass
class Lane:
    """Broken trees of one library and kind, drawn one after another."""

    library: Library
    kind: str
    wanted: float
    drawn: Iterator[BrokenTree]
    late: bool = False
    kept: int = 0
    flying: int = 0
    misses: int = 0
    over: bool = False

    @property
    def filled(self) -> float:
        """How much of what is wanted is there, or under way."""
        return (self.kept + self.flying) / self.wanted

    def ended(self, *, kept: bool) -> None:
        """A broken tree has made a task, or none."""
        self.flying -= 1
        self.kept += kept
        self.misses = 0 if kept else self.misses + 1
        if self.misses >= max(FEWEST_MISSES, MISSES_PER_TASK * self.wanted):
            self.over = True


@dataclass
class Lanes:
    """All of them. Late ones begin once the others have what is wanted of them, and nothing of them
    is under way: their tasks are what late ones are made of.
    """

    lanes: list[Lane] = field(default_factory=list)

    def next(self) -> tuple[Lane, BrokenTree] | None:
        """A broken tree of the lane that has come least far; None where all have ended, or
        for now.
        """
        while going := self._going():
            lane = min(going, key=lambda one: one.filled)
            broken = next(lane.drawn, None)
            if broken is None:
                lane.over = True
                continue
            lane.flying += 1
            return lane, broken
        return None

    def _going(self) -> list[Lane]:
        early, late = ([one for one in self.lanes if one.late is of] for of in (False, True))
        open_early, open_late = ([one for one in of if not one.over] for of in (early, late))
        flying = sum(one.flying for one in early)
        enough = sum(one.kept for one in early) + flying >= sum(one.wanted for one in early)
        if not open_late or (open_early and not enough):
            return open_early
        return [] if flying else open_late


def lanes_of(
    pool: Path, libraries: list[Library], kinds: Mapping[str, BugKind], tasks: int, seed: int
) -> Lanes:
    """One for each library and each kind that its language has; shares are those of the kinds, and
    alike for all libraries.
    """
    found = Lanes()
    for library in libraries:
        fitting = {name: one for name, one in kinds.items() if library.engine in one.engines}
        whole = sum(one.share for one in fitting.values()) * len(libraries)
        for name, kind in fitting.items():
            chance = Random(f"{seed} {library.name} {name}")
            drawn = kind.breaking()(library, base_of(pool, library.name), chance)
            wanted = tasks * kind.share / whole
            found.lanes.append(Lane(library, name, wanted, drawn, late=kind.late))
    return found
