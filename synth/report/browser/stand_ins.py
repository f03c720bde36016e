"""What the run's filters found to be secret or personal, kept out of every text of the page:
transcripts, goals, tooltips, details.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial

from synth.ledger.flow_scan import SECRETS, FlowScan
from synth.ledger.redactions import RedactionsFound, found_in_decisions
from synth.ledger.views import LedgerConnection
from synth.schemas import Trajectory
from synth.set_aside import SetAside
from synth.text.redaction.findings import RedactionFinding, found_in, redacted, values_of
from synth.text.redaction.quoted_values import QuotedValues

_GOALS = "SELECT task_id, goal FROM tasks WHERE goal IS NOT NULL AND task_id IN (SELECT unnest(?))"
_SEEN = (
    f"SELECT DISTINCT trajectory_id FROM decisions WHERE filter = '{SECRETS}' AND "
    "trajectory_id IN (SELECT unnest(?))"
)

_SHOWN = re.compile(r"(?<=>)[^<>]+(?=<)")
"""Words between tags: numbers of drawings stand in attributes."""


class StandIns:
    """Learns values from trajectories as they pass; afterwards takes them out of other texts about
    the same task.

    `flow`: the flow's filter `secrets`, by whose settings is looked for what no decision speaks of:
    attempts that ended in a fault,
    goals of tasks that nobody tried, details.
    """

    def __init__(self, flow: FlowScan | None = None) -> None:
        self._values: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self._scan, self._finder = (None, None) if flow is None else (flow.scan, flow.finder)
        self._quoted = lru_cache(maxsize=64)(self._known_of)
        # half of the details of a run say what others have said, whatever task they are about
        self._found = lru_cache(maxsize=1 << 14)(found_in)
        self.findings = 0

    def taken_out(
        self, connection: LedgerConnection, chunk: Sequence[Trajectory], aside: SetAside
    ) -> Iterator[Trajectory]:
        """Each trajectory without what was found in it; one of which that cannot be done is noted
        and left out.
        """
        identities = [t.trajectory_id for t in chunk]
        # what is known of these already: findings, goals, and what the filter has looked at
        found = found_in_decisions(connection, identities)
        goals = dict(connection.execute(_GOALS, [list({t.task_id for t in chunk})]).fetchall())
        seen = (
            {one for (one,) in connection.execute(_SEEN, [identities]).fetchall()}
            if self._scan is not None
            else set(identities)
        )

        for trajectory in chunk:
            goal = goals.get(trajectory.task_id) or ""
            clean = aside.tried(
                trajectory.trajectory_id, partial(self._clean, trajectory, goal, found, seen)
            )

            # a goal that could not be looked through is shown nowhere
            if clean is None:
                self._values[trajectory.task_id] |= {goal.casefold(): "[REDACTED]"} if goal else {}
                self._quoted.cache_clear()
            else:
                yield clean

    def _clean(
        self, trajectory: Trajectory, goal: str, found: RedactionsFound, seen: set[str]
    ) -> Trajectory:
        # what no decision speaks of is looked through here
        findings = list(found.of(trajectory.trajectory_id))
        if self._scan is not None and trajectory.trajectory_id not in seen:
            findings += self._scan.findings(trajectory, goal)
        if not findings:
            return trajectory

        clean = redacted(trajectory, findings)
        self._learn(trajectory, goal, findings)

        return clean

    def _learn(
        self, trajectory: Trajectory, goal: str, findings: Sequence[RedactionFinding]
    ) -> None:
        values = self._values[trajectory.task_id]
        taken_out: set[RedactionFinding] = set()

        for value, finding in values_of(trajectory, goal, findings):
            values.setdefault(value.casefold(), f"[REDACTED:{finding.kind}]")
            taken_out.add(finding)

        self.findings += len(taken_out)
        # texts of the task are read anew with these values
        self._quoted.cache_clear()

    def in_text(self, task_id: str, text: str) -> str:
        """A text that says something about a task, without the values that were found in any of its
        trajectories.
        """
        return self._quoted(task_id).out_of(text)

    def in_html(self, html: str) -> str:
        """A section without what the flow's filter finds in the words that it shows, such as names
        of models.
        """
        return (
            html
            if self._finder is None
            else _SHOWN.sub(lambda match: self.in_text("", match[0]), html)
        )

    def _known_of(self, task_id: str) -> QuotedValues:
        known: Mapping[str, str] = self._values.get(task_id, {})
        return QuotedValues(known, self._finder, self._found)
