"""RL data sets: tasks, with everything that an environment needs to set them up again and to check
them, and how often they were passed.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.datasets.release import TASKS, Lineage, may_leave
from synth.exporters.form import Form
from synth.exporters.kind import Kind
from synth.exporters.tally import ExportCounts
from synth.ledger.decisions import decision_order, verdicts_on
from synth.ledger.ledger import StoredLedger
from synth.ledger.redactions import tasks_without_findings, without_findings
from synth.ledger.views import connect
from synth.ledger.with_tasks import batches
from synth.schemas import Message, Release, SampledBy, Task, ToolSchema, to_messages
from synth.selection.rl_tasks import RlTask
from synth.set_aside import SetAside
from synth.text.transcript.message_texts import TOOLS, Change, with_messages
from synth.topology.graph import BASE

CHUNK = 2000
"""Tasks in memory at once."""
_PLAYED_BY = "policy, model, role, weights_id, sampling"
_STANDINGS = f"""
WITH trials AS (
  SELECT task_id, count(*) AS n, count(*) FILTER (outcome = 'success') AS passed FROM trajectories
  WHERE synthesizer IN (SELECT unnest(?)) AND parent_id IS NULL AND guidance IS NULL
    AND outcome IN ('success', 'failure', 'truncated')
  GROUP BY task_id, {_PLAYED_BY}
  QUALIFY row_number() OVER (PARTITION BY task_id ORDER BY n DESC, {_PLAYED_BY}) = 1
), solved AS (SELECT DISTINCT task_id, true AS solved FROM trajectories WHERE outcome = 'success'),
branching AS (
  SELECT t.task_id, max(e.value * h.value) AS branching FROM tasks AS t
  JOIN scores AS e ON e.subject_id = t.task_id AND e.metric = 'error_branch_ratio'
  JOIN scores AS h ON h.subject_id = t.task_id AND h.metric = 'strategic_heterogeneity' GROUP BY 1
)
SELECT task_id, coalesce(n, 0), coalesce(passed, 0), solved IS NOT NULL, branching
FROM (SELECT DISTINCT task_id FROM tasks) LEFT JOIN trials USING (task_id)
LEFT JOIN solved USING (task_id) LEFT JOIN branching USING (task_id) ORDER BY task_id
"""
"""Trials of one policy under one sampling, the one with most trials: pass rates of several say
nothing about the next group of any.
"""
_FIRST = """
SELECT task_id, min(trajectory_id) FROM trajectories WHERE task_id IN (SELECT unnest(?))
AND outcome <> 'invalid' AND parent_id IS NULL GROUP BY task_id
"""


class RlRow(msgspec.Struct, frozen=True):
    """A task; `prompt` is what a trial of it was shown first, or the goal where none was played."""

    task: Task
    standing: RlTask
    prompt: list[Message]
    tools: tuple[ToolSchema, ...]


def rl_tasks(ledger: StoredLedger, release: Release) -> list[tuple[RlTask, Mapping[str, Hashable]]]:
    """The current flow's tasks in the order of their ids, each with what the composition is told
    by; some in memory at once.
    """
    with connect(ledger) as connection:
        counted = connection.execute(_STANDINGS, [sorted(BASE)]).fetchall()

    found: list[tuple[RlTask, Mapping[str, Hashable]]] = []

    # whole tasks are large, what is found of them is small
    for chunk in batches(counted, CHUNK):
        tasks = ledger.tasks([identity for identity, *_ in chunk])

        for identity, trials, successes, solved, branching in chunk:
            task = tasks[identity]
            refusal = may_leave(Lineage(task), {}, TASKS, release)
            one = RlTask(
                task_id=identity,
                trials=trials,
                successes=successes,
                solvable=solved or _solved_by_an_expert(task),
                branching=branching,
                refused=refusal.counted if refusal else _unchecked(task),
            )
            refuses = None if task.check is None else bool(task.check.refusals)
            traits = {"env": task.env, "origin": task.origin.value, "refusal": refuses}
            found.append((one, traits))

    return found


def _solved_by_an_expert(task: Task) -> bool:
    """Test T8 of reverse synthesis: one that is told what an agent is told."""
    found: Any = task.difficulty
    for key in ("tests", "T8", "passed"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found is True


def _unchecked(task: Task) -> str | None:
    """Without a check nothing would say whether the task was solved."""
    return None if task.check else "no_check"


def rl_rows(ledger: StoredLedger, tally: ExportCounts) -> Iterator[RlRow]:
    """The current flow's tasks in the order of their ids; the decisions that `select` took on tasks
    are honoured.
    """
    # what selection went by and what is written are the same counts
    standings = [one for one, _ in rl_tasks(ledger, tally.settings)]
    order = decision_order(ledger)

    for chunk in batches(standings, CHUNK):
        of_chunk = {one.task_id: one for one in chunk}
        shown_by = _shown(ledger, [*of_chunk], tally.aside)
        with connect(ledger) as connection:
            verdicts = verdicts_on(connection, [*of_chunk], order)

        # what the environment needs cannot be redacted: such tasks are set aside
        found = ledger.tasks(set(of_chunk))
        tasks = tasks_without_findings(ledger, found, tally.aside, played=True)

        for identity, standing in of_chunk.items():
            task = tasks.get(identity)
            if task is None or identity in tally.aside.errors:
                continue

            refusal = tally.refusal(Lineage(task), verdicts[identity])

            if not tally.leaves(refusal or _unchecked(task)):
                goal: Message = {"role": "user", "content": task.goal}
                yield RlRow(task, standing, *shown_by.get(identity, ([goal], ())))


def _shown(
    ledger: StoredLedger, tasks: Sequence[str], aside: SetAside
) -> dict[str, tuple[list[Message], tuple[ToolSchema, ...]]]:
    """What the policy saw, before it first spoke, in one valid base trial of each task that has
    one, a canned greeting among it, and its tools; where that cannot be redacted, the task is set
    aside.
    """
    with connect(ledger) as connection:
        wanted = dict(connection.execute(_FIRST, [tasks]).fetchall())

    of_trials, found = SetAside(), {}
    trials = ledger.trajectories(set(wanted.values()))

    for trial in without_findings(ledger, trials, of_trials):
        # a canned greeting is part of what the policy was shown first
        canned = takewhile(lambda turn: turn.sampled_by is SampledBy.CANNED, trial.turns)
        found[trial.task_id] = (to_messages(replace(trial, turns=tuple(canned))), trial.tools)

    # what the trial was shown stands in the row, so it must be clean
    for task, trial in wanted.items():
        if trial in of_trials.errors:
            aside.add(task, of_trials.errors[trial])

    return found


def _texts(row: RlRow, form: Form, change: Change) -> RlRow:
    """What an agent is shown changed; all else of the task is what its world works with, and only
    looked at.
    """
    task = replace(row.task, goal=change("goal", row.task.goal))
    change("task", msgspec.to_builtins(row.task) | {"goal": ""})
    prompt = with_messages(row.prompt, change)

    return replace(row, task=task, prompt=prompt, tools=change(TOOLS, row.tools))


RL = Kind(
    name="rl",
    rows=rl_rows,
    texts=_texts,
    # what the card warns of
    counts=lambda row, tally: {
        "never_tried": not row.tools and not row.standing.trials,
        "unsolvable": not row.standing.solvable,
    },
    content=lambda row: row.task.task_id,
    rule=TASKS,
)
