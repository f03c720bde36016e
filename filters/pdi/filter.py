"""The filter `pdi`: the offline index of each task's chain, over a population of at least 20 tasks;
it keeps and drops nothing.
"""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from synth.engine.asking import TOO_LONG, RoleRequest, told
from synth.engine.means import SourceMeans
from synth.filters.pdi.skill import MOST_TOKENS, read_skill, skill_messages
from synth.ledger.views import connect
from synth.schemas.filter import Case, Cases, Filter, FilterResult, Measure
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Trajectory
from synth.schemas.verdict import Verdict
from synth.stats.pdi import INDEX, LEAST_ATTEMPTS, LEAST_TASKS, SKILL, Phis, Step, indices, phis

INPUTS = "pdi_inputs"


class PdiConfig(BaseModel):
    """`role`: of the flow's models, who distils a chain's skill text; without it there is no
    index.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: str = "skill_writer"
    drop: bool = False

    @model_validator(mode="after")
    def _never_drops(self) -> "PdiConfig":
        if self.drop:
            raise ValueError(
                "drop: pdi is a diagnostic and drops nothing: no run has shown that it goes with "
                "success on held-out tasks; leave it out"
            )
        return self


async def measure(case: Case, config: PdiConfig, means: SourceMeans) -> Sequence[Measure]:
    """A chain's three similarities and its skill text, or why there are none."""
    trajectory = case.trajectory
    if trajectory.parent_id is None:
        return [_none("no_chain")]
    if trajectory.outcome is not Outcome.SUCCESS:
        return [_none("no_success")]
    steps = _steps(means, trajectory.trajectory_id)
    if steps is None:
        return [_none("no_memo")]
    if len(steps) + 1 < LEAST_ATTEMPTS:
        return [_none("below_three_attempts")]
    if not means.has(config.role):
        return [_none("no_skill_document")]
    question = RoleRequest(
        purpose="skill",
        subject_id=trajectory.trajectory_id,
        task_id=trajectory.task_id,
        messages=skill_messages(steps, trajectory),
        sampling={}
        if means.role(config.role).policy.sampling.get("max_tokens")
        else {"max_tokens": MOST_TOKENS},
    )
    answer = await means.ask(config.role, question, read_skill)
    if answer.fault is not None:
        return [
            _none(TOO_LONG)
            if answer.fault.context_overflow
            else Measure(INPUTS, None, detail=told(answer.fault))
        ]
    if answer.value is None:
        return [_none("skill_unreadable")] if answer.unreadable is not None else []
    found = phis(steps, _commands(trajectory), answer.value)
    skill = Measure(SKILL, float(len(answer.value)), detail={"text": answer.value})
    if found is None:
        return [_none("no_plan"), skill]
    return [
        Measure(INPUTS, None, detail={"exec": found.exec, "plan": found.plan, "oss": found.oss}),
        skill,
    ]


def _steps(means: SourceMeans, success: str) -> list[Step] | None:
    """The memos of the chain that a retry ended, in their order; None where it carried none."""
    chain = (
        "SELECT detail->>'$.key' FROM scores WHERE metric = 'reflection' AND detail->>'$.retry' = ?"
    )
    sql = f"""SELECT DISTINCT CAST(detail->>'$.attempt' AS INT) AS attempt, detail->>'$.memo' FROM scores
        WHERE metric = 'reflection' AND (detail->>'$.key') IN (SELECT detail->>'$.key' FROM scores WHERE metric = 'pdi')
        AND (detail->>'$.key') IN ({chain}) ORDER BY attempt"""
    with connect(means.run.ledger) as connection:
        rows = connection.execute(sql, [success]).fetchall()
    memos: list[dict[str, Any]] = [json.loads(memo) for _, memo in rows if memo is not None]
    return [
        Step(
            "\n".join(m["commands"]),
            "\n".join(m["verified_facts"]),
            m["next_strategy"],
            frozenset(m["failed_tests"]),
        )
        for m in memos
    ] or None


def _commands(trajectory: Trajectory) -> str:
    own = trajectory.turns[trajectory.pivot_turn or 0 :]
    return "\n".join(f"{call.name} {call.arguments}" for turn in own for call in turn.tool_calls)


def _none(why: str) -> Measure:
    return Measure(INPUTS, None, detail={"why": why})


async def index(cases: Cases, config: PdiConfig) -> FilterResult:
    """The index of one chain per task (the first by id), with the population that it is taken over;
    verdicts are all undefined.
    """
    verdicts: dict[str, Verdict] = {}
    of_task: dict[str, tuple[str, Phis]] = {}
    for case in cases:
        detail = next(one.detail or {} for one in case.measures if one.metric == INPUTS)
        identity, task = case.trajectory.trajectory_id, case.trajectory.task_id
        if "exec" not in detail:
            verdicts[identity] = (
                Verdict(None, "fault", detail=detail)
                if "fault" in detail
                else Verdict(None, str(detail["why"]))
            )
            continue
        verdicts[identity] = Verdict(None, "diagnostic")
        if task not in of_task or identity < of_task[task][0]:
            of_task[task] = (identity, Phis(detail["exec"], detail["plan"], detail["oss"]))
    found = indices({task: values for task, (_, values) in of_task.items()})
    measures = {
        of_task[task][0]: [
            Measure(
                INDEX,
                one.value,
                detail={
                    "tasks": one.tasks,
                    "means": [one.means.exec, one.means.plan, one.means.oss],
                    "deviations": [one.deviations.exec, one.deviations.plan, one.deviations.oss],
                },
            )
        ]
        for task, one in found.items()
    }
    notes = (
        []
        if found
        else [
            f"no index: {len(of_task)} tasks have a chain with a skill text, {LEAST_TASKS} are "
            "needed"
        ]
    )
    return FilterResult(verdicts, notes, measures)


FILTER = Filter(
    PdiConfig,
    index,
    scope="corpus",
    measure=measure,
    measured=("role",),
    optional_roles=lambda config: (config.role,),
)
