"""The list of a run's trajectories: a column per trait, names once; all that search and filters
need without opening a chunk.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from synth.report.browser.record import About, number
from synth.report.section import shortened
from synth.schemas import Trajectory

GOAL = 240
NAMED = {
    "task": "task_id",
    "method": "synthesizer",
    "policy": "policy",
    "model": "model",
    "outcome": "outcome",
    "end": "termination",
    "fault": "fault",
    "authorship": "authorship",
}
"""Columns of names, by what they are called in a trajectory."""


class Listing:
    """Grows by a row for each trajectory, about 200 bytes."""

    def __init__(self) -> None:
        self.columns: defaultdict[str, list[Any]] = defaultdict(list)
        self._names: dict[str, dict[str, int]] = {
            column: {} for column in (*NAMED, "reason", "injected", "filter")
        }

    def __len__(self) -> int:
        return len(self.columns.get("id", ()))

    def add(self, trajectory: Trajectory, about: About, place: tuple[int, int] | None) -> None:
        """`place`: chunk and number within it; None where the page has no room for the texts."""
        chunk, at = place or (None, None)

        # filters of the list: why, dropped by whom, which mistakes were put there
        reasons = [f"{name}: {why}" for name, _, why, *_ in about.decisions]
        dropping = [name for name, keep, *_ in about.decisions if keep is False]
        injected = [turn.injected for turn in trajectory.turns if turn.injected is not None]

        row = {
            **{
                column: self._named(column, getattr(trajectory, field))
                for column, field in NAMED.items()
            },
            "id": trajectory.trajectory_id,
            "trial": trajectory.trial,
            "attempt": trajectory.attempt,
            "reward": number(trajectory.reward),
            "turns": len(trajectory.turns),
            "parent": trajectory.parent_id,
            "pivot": trajectory.pivot_turn,
            "informed": int(trajectory.gold_informed),
            "chunk": chunk,
            "at": at,
            "reasons": self._numbers("reason", reasons),
            "dropped": self._numbers("filter", dropping),
            "injected": self._numbers("injected", injected),
        }

        for column, value in row.items():
            self.columns[column].append(value)

    def _named(self, column: str, value: str | None) -> int | None:
        known = self._names[column]

        return None if value is None else known.setdefault(str(value), len(known))

    def _numbers(self, column: str, values: Iterable[str]) -> list[int]:
        known = self._names[column]

        return sorted({known.setdefault(value, len(known)) for value in values})

    def packed(self, goals: Mapping[str, str]) -> Mapping[str, Any]:
        """As the page reads it; `goals` by task, redacted. Parents by their row where they are on
        the page.
        """
        rows = {identity: row for row, identity in enumerate(self.columns["id"])}
        parents = [rows.get(parent, parent) for parent in self.columns["parent"]]
        names = {column: list(found) for column, found in self._names.items()}

        return {
            "columns": {**self.columns, "parent": parents},
            "names": names,
            "goals": [shortened(goals.get(task, ""), GOAL) for task in names["task"]],
        }
