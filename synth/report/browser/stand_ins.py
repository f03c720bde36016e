"""What the run's filters found to be secret or personal, kept out of every text of the page: transcripts, goals, tooltips, details."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

import duckdb

from schemas.trajectory import Trajectory
from synth.scan.places import texts
from synth.scan.redaction import Finding, findings_of, redacted

_FOUND = """
SELECT trajectory_id, detail FROM decisions
WHERE json_type(detail, '$.findings[0].place') IS NOT NULL AND trajectory_id IN (SELECT unnest(?))
"""
"""Decisions that say where something stands, also those that drop the row for it: dropped rows are on the page too."""


class StandIns:
    """Learns values from trajectories as they pass; afterwards takes them out of other texts about the same task."""

    def __init__(self) -> None:
        self._values: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self._pattern = lru_cache(maxsize=64)(self._compiled)
        self.findings = 0

    def taken_out(self, connection: "duckdb.DuckDBPyConnection", chunk: Sequence[Trajectory]) -> Iterator[Trajectory]:
        """Each trajectory without what was found in it."""
        found: defaultdict[str, list[Finding]] = defaultdict(list)
        for identity, detail in connection.execute(_FOUND, [[t.trajectory_id for t in chunk]]).fetchall():
            found[identity].extend(findings_of(json.loads(detail)))
        for trajectory in chunk:
            findings = found.get(trajectory.trajectory_id, [])
            self._learn(trajectory, findings)
            yield redacted(trajectory, findings)

    def _learn(self, trajectory: Trajectory, findings: Sequence[Finding]) -> None:
        if not findings:
            return
        self.findings += len(findings)
        places = {finding.place for finding in findings}
        standing = {place: text for place, text in texts(trajectory) if place in places}
        values = self._values[trajectory.task_id]
        for finding in findings:
            values.setdefault(standing[finding.place][finding.start : finding.end].casefold(), f"[REDACTED:{finding.kind}]")
        self._pattern.cache_clear()

    def in_text(self, task_id: str, text: str) -> str:
        """A text that says something about a task, without the values that were found in any of its trajectories."""
        values = self._values.get(task_id)
        return self._pattern(task_id).sub(lambda match: values.get(match[0].casefold(), "[REDACTED]"), text) if values else text

    def _compiled(self, task_id: str) -> "re.Pattern[str]":
        longest_first = sorted(self._values[task_id], key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
