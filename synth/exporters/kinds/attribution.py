"""Failure attribution data sets: failed runs, and the step that an intervention proved to be the
cause.
"""

from collections.abc import Iterator
from functools import partial

import msgspec
from msgspec.structs import replace

from synth.datasets.release import CAUSES, Lineage
from synth.exporters.form import Form
from synth.exporters.kind import Kind
from synth.exporters.tally import ExportCounts
from synth.ledger.decisions import with_decisions
from synth.ledger.flow_scan import FlowScan
from synth.ledger.ledger import StoredLedger
from synth.ledger.redactions import found_values, with_redacted_tasks
from synth.ledger.typed import read
from synth.schemas import AttributionLabel, RowError, Task, Trajectory, Turn, to_messages
from synth.set_aside import SetAside
from synth.text.redaction.quoted_values import QuotedValues
from synth.text.transcript.message_texts import Change, with_messages, with_trajectory

METRICS = ("injection", "observation_fault", "repair")
"""Scores that name a cause: a mistake put in, a fault of the world put in, a correction that makes
a failed run pass.
"""


class Cause(msgspec.Struct, frozen=True):
    """A label on a turn; `confirmed`: its test accepted it."""

    metric: str
    turn: int
    confirmed: bool
    label: AttributionLabel

    @property
    def by_agent(self) -> bool:
        """Whether it is a mistake of the agent, and not a fault of the world."""
        return self.label.side != "environment"


class AttributionRow(msgspec.Struct, frozen=True):
    """A failed run with its cause; `task` None where the ledger has none."""

    trajectory: Trajectory
    task: Task | None
    cause: Cause

    @property
    def blamed(self) -> Turn:
        """The turn of the cause."""
        return self.trajectory.turns[self.cause.turn]


def attribution_rows(ledger: StoredLedger, tally: ExportCounts) -> Iterator[AttributionRow]:
    """Failed runs with a confirmed cause, each once: of several, the earliest turn."""
    causes = _causes(ledger, tally.aside)
    # secrets that were found elsewhere in a run may stand in the words of its label too
    values, finder = found_values(ledger, set(causes)), FlowScan(ledger).finder

    def labelled() -> Iterator[Trajectory]:
        """Failed runs that have a cause and may leave."""
        for trajectory, verdicts in with_decisions(ledger, tally.aside):
            found = causes.get(trajectory.trajectory_id, ())
            weak = not any(cause.confirmed for cause in found)
            lineage = Lineage(trajectory, weak=weak)
            if found and not tally.leaves(tally.refusal(lineage, verdicts)):
                yield trajectory

    for trajectory, task in with_redacted_tasks(ledger, labelled(), tally.aside):
        identity = trajectory.trajectory_id
        # a later cause may be a consequence of the earlier one
        first = min(causes[identity], key=lambda cause: (not cause.confirmed, cause.turn))
        quoted = QuotedValues(values.get(identity, {}), finder)
        made = tally.made(identity, partial(_row, trajectory, task, first, quoted))
        if made is not None:
            yield made


def _causes(ledger: StoredLedger, aside: SetAside) -> dict[str, list[Cause]]:
    """By trajectory. Labels without a value say only that the recorded rest works
    (`replay_flip`).
    """
    causes: dict[str, list[Cause]] = {}
    for row in read(ledger, AttributionLabel, METRICS, aside=aside):
        if row.value is not None and row.turn is not None:
            cause = Cause(row.metric, row.turn, row.value == 1, row.about)
            causes.setdefault(row.subject_id, []).append(cause)
    return causes


def _row(
    trajectory: Trajectory, task: Task | None, cause: Cause, values: QuotedValues
) -> AttributionRow:
    """The cause without values that were found in its trajectory, and what the flow's filter finds
    in its words.
    """
    if cause.turn >= len(trajectory.turns):
        raise RowError(
            "label_without_turn",
            f"trajectory {trajectory.trajectory_id} has no turn {cause.turn}",
            cause.metric,
        )

    written = values.out_of(msgspec.json.encode(cause.label).decode())
    label = msgspec.json.decode(written, type=AttributionLabel)
    return AttributionRow(trajectory, task, replace(cause, label=label))


def _texts(row: AttributionRow, form: Form, change: Change) -> AttributionRow:
    """What was said, the question and what stands behind the label changed; a task's answer, gold
    and check are only looked at.
    """
    # the form writes no system prompt and no thoughts, so these are not looked at
    said = to_messages(replace(row.trajectory, system_prompt=None), thoughts=False)
    changed = with_messages(said, change) != said
    trajectory = with_trajectory(row.trajectory, change) if changed else row.trajectory
    evidence = change("evidence", msgspec.to_builtins(row.cause.label))
    cause = replace(row.cause, label=msgspec.convert(evidence, AttributionLabel))

    if (task := row.task) is not None:
        change("task", msgspec.to_builtins([task.script.get("answer"), task.gold, task.check]))
        task = replace(task, goal=change("goal", task.goal))

    return AttributionRow(trajectory, task, cause)


ATTRIBUTION = Kind(
    name="attribution",
    rows=attribution_rows,
    texts=_texts,
    # what the card warns of: labels without a test, rows that blame nobody
    counts=lambda row, tally: {
        "weak": not row.cause.confirmed,
        "faults_of_the_world": not row.cause.by_agent,
    },
    content=lambda row: (row.trajectory.trajectory_id, row.cause.turn),
    rule=CAUSES,
)
