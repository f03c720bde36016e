"""The filter `pdi`: the offline index of each task's chain of attempts with a carried memo and a
skill text, over a population of at least 20 tasks; it keeps and drops nothing.

Whether progress came from what was executed, and not from plans that come back: `synth.stats.pdi`
has the formulas, docs/pdi.md what they are worth.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from pydantic import model_validator

from synth.engine.asking import (
    TOO_LONG,
    RoleRequest,
    SourceMeans,
    UnreadableError,
    chat,
    json_reply,
    prompt,
    response_form,
)
from synth.engine.roles.replies import answer_text
from synth.filters.judge import NoDrawsError, draws
from synth.ledger.typed import read
from synth.schemas import (
    Case,
    Cases,
    Completion,
    Faulted,
    Filter,
    FilterResult,
    FilterSettings,
    Measure,
    Memo,
    Outcome,
    Trajectory,
    Verdict,
)
from synth.stats.pdi import INDEX, LEAST_ATTEMPTS, LEAST_TASKS, SKILL, PdiStep, Phis, indices, phis
from synth.text.refusals import refuses
from synth.text.replies.objects import said
from synth.text.transcript.log import log_of

LONGEST = 20_000
"""Characters of a skill text."""
MOST_TOKENS = 4096
"""Of a reply, where the role's settings give no bound."""
INPUTS = "pdi_inputs"
"""The metric that a chain's similarities, or the reason why there are none, stand behind."""


class PdiConfig(FilterSettings):
    """`role`: of the flow's models, who distils a chain's skill text; without it there is no
    index.
    """

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


class Inputs(Faulted, frozen=True, omit_defaults=True, kw_only=True):
    """A chain's similarities, or its skill text, or why it has none."""

    why: str | None = None
    exec: float | None = None
    plan: float | None = None
    oss: float | None = None
    text: str | None = None

    @property
    def phis(self) -> Phis | None:
        """The similarities, where there are all three."""
        if self.exec is None or self.plan is None or self.oss is None:
            return None
        return Phis(self.exec, self.plan, self.oss)


class Attempt(msgspec.Struct, frozen=True):
    """An attempt of a chain, and what it left for the next; the retry that followed.

    `key`: of the chain; `attempt`: its number there.
    """

    key: str
    attempt: int = 0
    memo: Memo | None = None


async def measure(case: Case, config: PdiConfig, means: SourceMeans) -> Sequence[Measure]:
    """A chain's three similarities and its skill text, or why there are none.

    A chain is what a retry ended that succeeded: the failed attempts before it, each with the memo
    that it left for the next. Only such a chain has a skill to write down.
    """
    trajectory = case.trajectory
    if trajectory.parent_id is None:
        return [_inputs(why="no_chain")]
    if trajectory.outcome is not Outcome.SUCCESS:
        return [_inputs(why="no_success")]

    steps = _steps(means, trajectory.trajectory_id)
    if not steps:
        return [_inputs(why="no_memo")]
    if len(steps) + 1 < LEAST_ATTEMPTS:
        return [_inputs(why="below_three_attempts")]
    if not means.has(config.role):
        return [_inputs(why="no_skill_document")]

    request = _request(trajectory, steps, means.role(config.role).policy.sampling)
    too_long, unreadable = Inputs(why=TOO_LONG), Inputs(why="skill_unreadable")

    try:
        (text,), _ = await draws(means, config.role, [request], read_skill, too_long, unreadable)
    except NoDrawsError as lost:
        return lost.measures(INPUTS)

    # of the success only what the retry itself did: the turns before its pivot are the trial's
    turns = trajectory.turns[trajectory.pivot_turn or 0 :]
    calls = [f"{call.name} {call.arguments}" for turn in turns for call in turn.tool_calls]
    found = phis(steps, "\n".join(calls), text)
    about = {"why": "no_plan"} if found is None else msgspec.structs.asdict(found)

    return [_inputs(**about), Measure(SKILL, float(len(text)), about=Inputs(text=text))]


def _inputs(**about: Any) -> Measure:
    """What the index is made of, or why there is nothing."""
    return Measure(INPUTS, None, about=Inputs(**about))


def _steps(means: SourceMeans, success: str) -> list[PdiStep]:
    """The memos of the chain that a retry ended, in their order; empty where it carried none."""
    # the ledger names a chain by its key, which the retry's own record points at
    of_chains = partial(read, means.run.ledger, Attempt)
    ended = {row.about.key for row in of_chains(("reflection",), having=("retry", [success]))}
    keys = {row.about.key for row in of_chains(("pdi",), having=("key", [*ended]))}
    attempts = {row.about for row in of_chains(("reflection",), having=("key", [*keys]))}

    memos = [one.memo for one in sorted(attempts, key=lambda one: one.attempt)]
    return [
        PdiStep(
            "\n".join(memo.commands),
            "\n".join(memo.verified_facts),
            memo.next_strategy,
            frozenset(memo.failed_tests),
        )
        for memo in filter(None, memos)
    ]


def _request(
    success: Trajectory, steps: Sequence[PdiStep], sampling: Mapping[str, Any]
) -> RoleRequest:
    """Asks for the skill text of a chain; `sampling`: what the role's settings say."""
    notes = "\n".join(
        f"Attempt {at}: it planned next: {step.strategy}" for at, step in enumerate(steps, start=1)
    )

    # the log stands between fences, which nothing in it may close
    log = log_of(success).replace("```", "\\u0060\\u0060\\u0060")
    shown = f"The log of the attempt that succeeded:\n```\n{log}\n```"

    return RoleRequest(
        purpose="skill",
        subject_id=success.trajectory_id,
        task_id=success.task_id,
        messages=chat(prompt("skill_writer/role"), notes, shown, prompt("skill_writer/form")),
        sampling={} if sampling.get("max_tokens") else {"max_tokens": MOST_TOKENS},
        form=FORM,
    )


class SkillText(msgspec.Struct, frozen=True):
    """The form of the skill writer's reply."""

    skill: str


FORM = response_form("skill", SkillText)


def read_skill(completion: Completion) -> str:
    """The text of a reply, in its form or as plain text. Raises `UnreadableError` where there is
    none, one that refuses, or one that is too long for a skill.
    """
    text = said(answer_text(completion)).strip()
    try:
        text = json_reply(completion, SkillText).skill.strip()
    except UnreadableError:
        if text.startswith(("{", "[", "```")) or refuses(text):
            raise
    if not text:
        raise UnreadableError("it holds no text")
    if len(text) > LONGEST:
        raise UnreadableError(f"it has {len(text):,} characters; at most {LONGEST:,} are allowed")

    return text


async def index(cases: Cases, config: PdiConfig) -> FilterResult:
    """The index of one chain per task (the first by id), with the population that it is taken over;
    verdicts are all undefined.

    A note says where there are too few tasks for an index.
    """
    verdicts: dict[str, Verdict] = {}
    of_task: dict[str, tuple[str, Phis]] = {}

    for case in cases:
        inputs: Inputs = next(one.about for one in case.measures if one.metric == INPUTS)
        identity, task = case.trajectory.trajectory_id, case.trajectory.task_id

        if inputs.fault is not None:
            verdicts[identity] = Verdict(None, "fault", detail=msgspec.to_builtins(inputs))
        elif inputs.phis is None:
            verdicts[identity] = Verdict(None, str(inputs.why))
        else:
            verdicts[identity] = Verdict(None, "diagnostic")

            # a task counts once, whatever the number of its chains
            found = (identity, inputs.phis)
            of_task[task] = min(of_task.get(task, found), found, key=lambda one: one[0])

    measures = {of_task[task][0]: [one] for task, one in _indices(of_task)}
    note = (
        f"no index: {len(of_task)} tasks have a chain with a skill text, {LEAST_TASKS} are needed"
    )
    return FilterResult(verdicts, [] if measures else [note], measures)


def _indices(of_task: Mapping[str, tuple[str, Phis]]) -> Iterator[tuple[str, Measure]]:
    """By task, with the population that makes the value what it is; nothing below 20 tasks."""
    for task, one in indices({task: chain for task, (_, chain) in of_task.items()}).items():
        means, deviations = map(msgspec.structs.astuple, (one.means, one.deviations))
        about = {"tasks": one.tasks, "means": means, "deviations": deviations}
        yield task, Measure(INDEX, one.value, about=about)


FILTER = Filter(
    PdiConfig,
    index,
    scope="corpus",
    version=2,
    measure=measure,
    measured=("role",),
    about=Inputs,
    optional_roles=lambda config: (config.role,),
)
