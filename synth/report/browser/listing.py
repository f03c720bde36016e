"""The list of a run's trajectories: a column per trait, names once; all that search and filters
need without opening a chunk.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from synth.report.browser.record import About, number
from synth.schemas.trajectory import Trajectory

GOAL = 240
NAMED = ("task", "method", "policy", "model", "outcome", "end", "fault", "authorship")


class Listing:
    """Grows by a row for each trajectory, about 200 bytes."""

    def __init__(self) -> None:
        self.columns: defaultdict[str, list[Any]] = defaultdict(list)
        self._names: dict[str, dict[str, int]] = {
            column: {} for column in (*NAMED, "reason", "injected", "filter")
        }

    def __len__(self) -> int:
        return len(self.columns["id"])

    def add(self, trajectory: Trajectory, about: About, place: tuple[int, int] | None) -> None:
        """`place`: chunk and number within it; None where the page has no room for the texts."""
        t, columns = trajectory, self.columns
        named = (
            t.task_id,
            t.synthesizer,
            t.policy,
            t.model,
            t.outcome,
            t.termination,
            t.fault,
            t.authorship,
        )
        for column, value in zip(NAMED, named, strict=True):
            columns[column].append(self._named(column, value))
        chunk, at = place if place is not None else (None, None)
        for column, plain in (
            ("id", t.trajectory_id),
            ("trial", t.trial),
            ("attempt", t.attempt),
            ("reward", number(t.reward)),
            ("turns", len(t.turns)),
            ("parent", t.parent_id),
            ("pivot", t.pivot_turn),
            ("informed", int(t.gold_informed)),
            ("chunk", chunk),
            ("at", at),
        ):
            columns[column].append(plain)
        reasons = [
            self._named("reason", f"{name}: {why}") for name, _, why, _, _ in about.decisions
        ]
        columns["reasons"].append(sorted({one for one in reasons if one is not None}))
        columns["dropped"].append(
            sorted(
                {
                    self._names["filter"].setdefault(d[0], len(self._names["filter"]))
                    for d in about.decisions
                    if d[1] is False
                }
            )
        )
        injected = {turn.injected for turn in t.turns if turn.injected is not None}
        columns["injected"].append(
            sorted(
                self._names["injected"].setdefault(one, len(self._names["injected"]))
                for one in injected
            )
        )

    def _named(self, column: str, value: str | None) -> int | None:
        return (
            None
            if value is None
            else self._names[column].setdefault(str(value), len(self._names[column]))
        )

    def packed(self, goals: Mapping[str, str]) -> Mapping[str, Any]:
        """As the page reads it; `goals` by task, redacted. Parents by their row where they are on
        the page.
        """
        rows = {identity: row for row, identity in enumerate(self.columns["id"])}
        columns = {
            **self.columns,
            "parent": [rows.get(parent, parent) for parent in self.columns["parent"]],
        }
        names = {column: list(found) for column, found in self._names.items()}
        shown = {task: " ".join(goals[task].split()) for task in names["task"] if task in goals}
        cut = {
            task: goal if len(goal) <= GOAL else goal[:GOAL] + "…" for task, goal in shown.items()
        }
        return {
            "columns": columns,
            "names": names,
            "goals": [cut.get(task, "") for task in names["task"]],
        }
