"""RL data sets: tasks, with everything that an environment needs to set them up again and to check
them, and how often they were passed.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence

import msgspec

from synth.datasets.release import TASKS, Lineage, may_leave
from synth.exporters.kind import Form, Kind
from synth.exporters.tally import ExportCounts
from synth.ledger.decisions import decision_order, verdicts_on
from synth.ledger.ledger import Ledger
from synth.ledger.redactions import tasks_without_findings, without_findings
from synth.ledger.views import connect
from synth.schemas.messages import observation_message, turn_messages
from synth.schemas.model import Message
from synth.schemas.release import Release
from synth.schemas.task import Task
from synth.schemas.trajectory import SampledBy, ToolSchema, Trajectory
from synth.selection.rl_tasks import RlTask
from synth.set_aside import SetAside
from synth.text.transcript.message_texts import TOOLS, Change, with_messages
from synth.topology.graph import BASE

CHUNK = 2000
"""Tasks in memory at once."""
_SUCCESSES = "count(*) FILTER (outcome = 'success')"
_PLAYED_BY = "policy, model, role, weights_id, sampling"
_TRIALS = f"""
SELECT task_id, count(*) AS n, {_SUCCESSES} AS solved FROM trajectories
WHERE synthesizer IN ({", ".join(f"'{name}'" for name in sorted(BASE))}) AND parent_id IS NULL AND guidance IS NULL
  AND outcome IN ('success', 'failure', 'truncated')
GROUP BY task_id, {_PLAYED_BY}
QUALIFY row_number() OVER (PARTITION BY task_id ORDER BY n DESC, {_PLAYED_BY}) = 1
"""
"""Of one policy under one sampling, the one with most trials: pass rates of several say nothing
about the next group of any.
"""
_BRANCHING = """
SELECT e.subject_id, max(e.value * h.value) FROM scores AS e JOIN scores AS h USING (subject_id)
WHERE e.metric = 'error_branch_ratio' AND h.metric = 'strategic_heterogeneity' GROUP BY 1
"""
Shown = tuple[list[Message], tuple[ToolSchema, ...]]
"""Prompt and tools, as a policy was shown them."""


class RlRow(msgspec.Struct, frozen=True):
    """A task; `prompt` is what a trial of it was shown first, or the goal where none was played."""

    task: Task
    standing: RlTask
    prompt: list[Message]
    tools: tuple[ToolSchema, ...]

    @property
    def lineage(self) -> Task:
        return self.task


def rl_tasks(ledger: Ledger, release: Release) -> list[tuple[RlTask, Mapping[str, Hashable]]]:
    """The current flow's tasks in the order of their ids, each with what the composition is told
    by; some in memory at once.
    """
    with connect(ledger) as connection:
        every = sorted(
            identity
            for (identity,) in connection.execute("SELECT DISTINCT task_id FROM tasks").fetchall()
        )
        trials = {task: (n, solved) for task, n, solved in connection.execute(_TRIALS).fetchall()}
        solved = {
            task
            for (task,) in connection.execute(
                "SELECT DISTINCT task_id FROM trajectories WHERE outcome = 'success'"
            ).fetchall()
        }
        branching = dict(connection.execute(_BRANCHING).fetchall())
    found: list[tuple[RlTask, Mapping[str, Hashable]]] = []
    for identity, task in _tasks(ledger, every):
        n, successes = trials.get(identity, (0, 0))
        refusal = may_leave(Lineage(task), {}, TASKS, release)
        one = RlTask(
            task_id=identity,
            trials=n,
            successes=successes,
            solvable=identity in solved or _solved_from_its_goal(task),
            branching=branching.get(identity),
            refused=refusal.counted if refusal else None if task.check else "no_check",
        )
        refuses = None if task.check is None else bool(task.check.refusals)
        found.append((one, {"env": task.env, "origin": task.origin.value, "refusal": refuses}))
    return found


def _tasks(ledger: Ledger, identities: Sequence[str]) -> Iterator[tuple[str, Task]]:
    for at in range(0, len(identities), CHUNK):
        yield from sorted(ledger.tasks(identities[at : at + CHUNK]).items())


def _solved_from_its_goal(task: Task) -> bool:
    """Whether test T8 of reverse synthesis passed: an expert that is told what an agent is told
    solves it.
    """
    tests = task.difficulty.get("tests")
    return (
        isinstance(tests, Mapping)
        and isinstance(tests.get("T8"), Mapping)
        and tests["T8"].get("passed") is True
    )


def rl_rows(ledger: Ledger, tally: ExportCounts) -> Iterator[RlRow]:
    """The current flow's tasks in the order of their ids; the decisions that `select` took on tasks
    are honoured.
    """
    standings = [one for one, _ in rl_tasks(ledger, tally.settings)]
    order = decision_order(ledger)
    for at in range(0, len(standings), CHUNK):
        of_chunk = {one.task_id: one for one in standings[at : at + CHUNK]}
        shown_by = _shown(ledger, [*of_chunk], tally.aside)
        with connect(ledger) as connection:
            verdicts = verdicts_on(connection, [*of_chunk], order)
        tasks = tasks_without_findings(
            ledger, ledger.tasks(set(of_chunk)), tally.aside, played=True
        )
        for identity, standing in of_chunk.items():
            task = tasks.get(identity)
            if task is None or identity in tally.aside.errors:
                continue
            refusal = tally.refusal(Lineage(task), verdicts[identity])
            if not tally.leaves(refusal or (None if task.check else "no_check")):
                goal: Message = {"role": "user", "content": task.goal}
                yield RlRow(task, standing, *shown_by.get(identity, ([goal], ())))


def _shown_first(trial: Trajectory) -> list[Message]:
    """What the policy saw before it first spoke; a canned greeting is part of it."""
    messages: list[Message] = (
        [] if trial.system_prompt is None else [{"role": "system", "content": trial.system_prompt}]
    )
    messages += [observation_message(observation) for observation in trial.opening]
    for turn in trial.turns:
        if turn.sampled_by is not SampledBy.CANNED:
            break
        messages += turn_messages(turn)
    return messages


def _shown(ledger: Ledger, tasks: list[str], aside: SetAside) -> dict[str, Shown]:
    """What one valid base trial of each task that has one was shown; where that cannot be redacted,
    the task is set aside.
    """
    sql = (
        "SELECT task_id, min(trajectory_id) FROM trajectories WHERE task_id IN (SELECT unnest(?)) "
        "AND outcome <> 'invalid' "
        "AND parent_id IS NULL GROUP BY task_id"
    )
    with connect(ledger) as connection:
        wanted = dict(connection.execute(sql, [tasks]).fetchall())
    of_trials = SetAside()
    trials = without_findings(ledger, ledger.trajectories(set(wanted.values())), of_trials)
    found = {trial.task_id: (_shown_first(trial), trial.tools) for trial in trials}
    for task, trial in wanted.items():
        if trial in of_trials.errors:
            aside.add(task, of_trials.errors[trial])
    return found


def _texts(row: RlRow, form: Form, change: Change) -> RlRow:
    """What an agent is shown changed; all else of the task is what its world works with, and only
    looked at.
    """
    goal = change("goal", row.task.goal)
    change("task", msgspec.to_builtins(row.task) | {"goal": ""})
    return msgspec.structs.replace(
        row,
        task=msgspec.structs.replace(row.task, goal=goal),
        prompt=with_messages(row.prompt, change),
        tools=change(TOOLS, row.tools),
    )


def _counts(row: RlRow, tally: ExportCounts) -> Mapping[str, int]:
    return {
        "never_tried": not row.tools and not row.standing.trials,
        "unsolvable": not row.standing.solvable,
    }


RL = Kind(
    name="rl",
    title="Tasks for reinforcement learning",
    one_row="One row is one task. `task` is all that its environment needs to set it up again and to "
    "check it, as JSON text; it holds the "
    "check and what the user simulator knows, and no agent may be shown it. `prompt` and "
    "`tool_schemas` are what the agent is "
    "shown. `successes` of `trials` base trials passed.",
    rows=rl_rows,
    texts=_texts,
    counts=_counts,
    content=lambda row: row.task.task_id,
    rule=TASKS,
)
