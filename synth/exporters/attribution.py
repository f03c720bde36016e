"""Failure attribution data sets: failed runs, and the step that an intervention proved to be the
cause.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import msgspec

from synth.datasets.release import CAUSES, Lineage
from synth.exporters.kind import Form, Kind
from synth.exporters.tally import ExportCounts
from synth.ledger.decisions import with_decisions
from synth.ledger.flow_scan import FlowScan
from synth.ledger.ledger import Ledger
from synth.ledger.redactions import found_values, with_redacted_tasks
from synth.ledger.typed import read
from synth.schemas.errors import RowError
from synth.schemas.labels import AttributionLabel
from synth.schemas.messages import to_messages
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.set_aside import SetAside
from synth.text.redaction.quoted_values import QuotedValues
from synth.text.transcript.message_texts import Change, with_messages, with_trajectory

METRICS = ("injection", "observation_fault", "repair")
"""Scores that name a cause: a mistake put in, a fault of the world put in, a correction that makes
a failed run pass.
"""
_LABEL = msgspec.json.Decoder(AttributionLabel)


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
    def lineage(self) -> Trajectory:
        return self.trajectory


def attribution_rows(ledger: Ledger, tally: ExportCounts) -> Iterator[AttributionRow]:
    """Failed runs with a confirmed cause, each once: of several, the earliest turn."""
    causes = _causes(ledger, tally.aside)
    values, flow = found_values(ledger, set(causes)), FlowScan(ledger)

    def labelled() -> Iterator[Trajectory]:
        for trajectory, verdicts in with_decisions(ledger, tally.aside):
            found = causes.get(trajectory.trajectory_id)
            if found is None:
                continue
            lineage = Lineage(trajectory, weak=not any(cause.confirmed for cause in found))
            if not tally.leaves(tally.refusal(lineage, verdicts)):
                yield trajectory

    for trajectory, task in with_redacted_tasks(ledger, labelled(), tally.aside):
        identity = trajectory.trajectory_id
        found = causes[identity]
        first = min(
            [cause for cause in found if cause.confirmed] or found, key=lambda cause: cause.turn
        )
        cause = tally.aside.tried(
            identity,
            partial(_clean, trajectory, first, QuotedValues(values.get(identity, {}), flow.finder)),
        )
        if cause is not None:
            yield AttributionRow(trajectory, task, cause)


def _clean(trajectory: Trajectory, cause: Cause, values: QuotedValues) -> Cause:
    """The cause without values that were found in its trajectory, and what the flow's filter finds
    in its words.
    """
    if cause.turn >= len(trajectory.turns):
        raise RowError(
            "label_without_turn",
            f"trajectory {trajectory.trajectory_id} has no turn {cause.turn}",
            cause.metric,
        )
    label = values.out_of(msgspec.json.encode(cause.label).decode())
    return msgspec.structs.replace(cause, label=_LABEL.decode(label))


def _causes(ledger: Ledger, aside: SetAside) -> dict[str, list[Cause]]:
    """Labels by trajectory; those that say only that the recorded rest works (`replay_flip`, no
    value) are none.
    """
    found: dict[str, list[Cause]] = {}
    for row in read(ledger, AttributionLabel, METRICS, aside=aside):
        if row.value is not None and row.turn is not None:
            cause = Cause(row.metric, row.turn, row.value == 1, row.about)
            found.setdefault(row.subject_id, []).append(cause)
    return found


def _texts(row: AttributionRow, form: Form, change: Change) -> AttributionRow:
    """What was said, the question and what stands behind the label changed; a task's answer, gold
    and check are only looked at.
    """
    bare = msgspec.structs.replace(row.trajectory, system_prompt=None)
    said = to_messages(bare, thoughts=False)
    changed = with_messages(said, change) != said
    trajectory = with_trajectory(row.trajectory, change) if changed else row.trajectory
    said_of = change("evidence", msgspec.to_builtins(row.cause.label))
    label = msgspec.convert(said_of, AttributionLabel)
    cause = msgspec.structs.replace(row.cause, label=label)
    task = row.task
    if task is not None:
        change("task", msgspec.to_builtins([task.script.get("answer"), task.gold, task.check]))
        task = msgspec.structs.replace(task, goal=change("goal", task.goal))
    return msgspec.structs.replace(row, trajectory=trajectory, task=task, cause=cause)


def _counts(row: AttributionRow, tally: ExportCounts) -> Mapping[str, int]:
    return {"weak": not row.cause.confirmed, "faults_of_the_world": not row.cause.by_agent}


ATTRIBUTION = Kind(
    name="attribution",
    title="Failed runs, and the step that caused each",
    one_row="One row is one failed run in the form of Who&When: `history`, and the agent and the step "
    "(index into `history`, as text) that "
    "an intervention proved to be the cause: with another act there, the run passes, as often as "
    "`evidence` counts. `label` says how it "
    "was found: `injection` (a mistake was put there), `repair` (a correction made it pass), "
    "`observation_fault` (the world answered "
    "wrongly: nobody is to blame, `mistake_agent` and `mistake_step` are empty, `fault_step` "
    "names the message).",
    rows=attribution_rows,
    texts=_texts,
    counts=_counts,
    content=lambda row: (row.trajectory.trajectory_id, row.cause.turn),
    rule=CAUSES,
)
