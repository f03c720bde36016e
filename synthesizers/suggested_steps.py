"""Proposes the steps of a failed trajectory that are worth a test: steps that a judge suspects,
drops of the success potential, rules.

These are proposals only: continuations decide, and a judge's silence is no label either.
"""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import islice, zip_longest
from typing import Any

import msgspec

from synth.engine.asking import (
    Answer,
    RoleClient,
    RoleRequest,
    UnreadableError,
    json_reply,
    prompt,
    response_form,
)
from synth.engine.context import Role
from synth.engine.roles.replies import answer_text
from synth.engine.study.shard import OF_ALL, ShardContext, UnitResult
from synth.engine.study.stage_context import StageContext
from synth.ledger.typed import read
from synth.schemas import METRICS, Completion, Outcome, RetryLabel, SampledBy, Trajectory, Turn
from synth.synthesizers.step_settings import RULES, ProposalRule
from synth.text.replies.fitted import whole_number
from synth.text.replies.objects import said
from synth.text.transcript.log import log_of

JUDGE = "judge"
"""The role that is asked, where a flow has it."""
_LIST = re.compile(r"[\[［][^\[\]{}［］｛｝]*[\]］]")
_COMMA = re.compile("[,，、]")


def proposed(
    trajectory: Trajectory,
    successes: Sequence[Trajectory],
    most: int,
    suspected: Sequence[int] = (),
    dropped: Sequence[int] = (),
    pivots: Sequence[int] = (),
    heard: Sequence[ProposalRule] = RULES,
) -> dict[int, str]:
    """At most `most` turns, each with the rule that proposes it, one of each rule that is `heard`
    in turn, each turn once.

    `judge`: the turns that a judge suspects, in its order. `retry`: those in `pivots`, of retries
    that passed. `drop`: those in `dropped`, the lowest first, where the stage `topology` ran
    before. `effect`: turns that changed the state and were not refused, the latest first.
    `departure`: the first turn after which no success among the task's trials was ever in the same
    state. `error`: turns answered by an error, the first first. `last`: the last turn. Turns that
    the policy did not decide are never proposed.
    """
    turns = {turn.index: turn.state_key for turn in _own(trajectory)}
    keys = [trajectory.opening_state_key, *(turn.state_key for turn in trajectory.turns)]
    refused = [at for at in turns if any(one.error for one in trajectory.turns[at].observations)]
    changed = [at for at, key in turns.items() if key not in (None, keys[at])]
    passed = {turn.state_key for success in successes for turn in success.turns} - {None}
    left = [at for at, key in turns.items() if key not in {None, *passed}]

    rules: Mapping[ProposalRule, Sequence[int]] = {
        "judge": [at for at in suspected if at in turns],
        "retry": [at for at in pivots if at in turns],
        "drop": [at for at in dropped if at in turns],
        "effect": [at for at in reversed(changed) if at not in refused],
        "departure": left[:1] if passed else (),
        "error": refused,
        "last": list(turns)[-1:],
    }
    found: dict[int, str] = {}

    for places in zip_longest(*(rules[rule] for rule in heard)):
        for rule, at in zip(heard, places, strict=True):
            if at is not None:
                found.setdefault(at, rule)

    return dict(islice(found.items(), most))


def _own(trajectory: Trajectory) -> list[Turn]:
    """The turns that the policy decided."""
    return [turn for turn in trajectory.turns if turn.sampled_by is SampledBy.POLICY]


async def suspicions_of(
    judge: Role | None, shard: ShardContext, trials: Sequence[Trajectory], most: int
) -> Mapping[str, Sequence[int]]:
    """Asks the judge about failed trials: the turns that it suspects, by trial; without one, none.
    Trials that it could not be asked about are left out and stay open.
    """
    if judge is None:
        return {trial.trajectory_id: () for trial in trials}

    client = shard.client(JUDGE, judge)
    found: dict[str, Answer[tuple[int, ...]]] = {}

    async def ask(trial: Trajectory, result: UnitResult) -> None:
        answer: Answer[tuple[int, ...]] = Answer(None)
        if shard.run.may_start():
            failed = trial.outcome is Outcome.FAILURE
            answer = await judge_proposals(client, trial, most) if failed else Answer(())

        found[trial.trajectory_id] = answer
        result.open |= answer.value is None

    await shard.each({trial.trajectory_id: trial for trial in trials}, ask)
    shard.of(OF_ALL).replies += [one for unit in sorted(found) for one in found[unit].replies]

    return {unit: one.value for unit, one in found.items() if one.value is not None}


async def judge_proposals(
    asking: RoleClient, trajectory: Trajectory, most: int
) -> Answer[tuple[int, ...]]:
    """Asks the judge for at most `most` turns of the policy's own. An answer that cannot be read,
    or never will come since the context is too long, proposes none; one without a value is left to
    a rerun.
    """

    own = [turn.index for turn in _own(trajectory)]

    if not own:
        return Answer(())

    def read(completion: Completion) -> tuple[int, ...]:
        named = _named(completion)

        if not set(named) <= set(own):
            raise UnreadableError(
                f"it names steps that the agent did not take; the log has {own[0]} to {own[-1]}"
            )

        return named[:most]

    asked = log_of(trajectory), prompt("judge/steps_form").format(most)
    role = prompt("judge/steps_role")
    form = _form(own, most)
    question = RoleRequest.about(trajectory, "suspected_steps", role, *asked, form=form)
    answer = await asking.ask(question, read)
    too_long = answer.fault is not None and answer.fault.context_overflow

    return Answer((), answer.replies) if too_long or answer.unreadable is not None else answer


def _named(completion: Completion) -> tuple[int, ...]:
    """The steps of a reply in its form, or of the one list of numbers in it. Raises
    `UnreadableError`.
    """
    try:
        return tuple(dict.fromkeys(json_reply(completion, _Steps).steps))
    except UnreadableError:
        written = _LIST.findall(said(answer_text(completion)))
        lists = {found for found in map(_numbers, written) if found is not None}
        if len(lists) != 1:
            raise UnreadableError("it holds no JSON list of step numbers, or several") from None
        return next(iter(lists))


class _Steps(msgspec.Struct, frozen=True):
    """A list in an object, since the root of a server's form must be one."""

    steps: tuple[int, ...]


def _form(own: Sequence[int], most: int) -> Mapping[str, Any]:
    """What a server holds the reply to: at most `most` numbers of steps that there are."""
    form = deepcopy(dict(response_form("steps", _Steps)))
    steps = form["json_schema"]["schema"]["properties"]["steps"]
    steps["maxItems"] = most
    steps["items"] |= {"minimum": own[0], "maximum": own[-1]}
    return form


def _numbers(written: str) -> tuple[int, ...] | None:
    """The step numbers of a list, each once; None for a list of something else."""
    items = [whole_number(item.strip(" \"'\n")) for item in _COMMA.split(written[1:-1])]
    if items == [""]:
        return ()
    numbers = [one for one in items if isinstance(one, int)]
    return tuple(dict.fromkeys(numbers)) if len(numbers) == len(items) else None


def decisive_drops(stage: StageContext) -> Mapping[str, Sequence[int]]:
    """Trajectory -> the turns at which a `topology` before this stage saw the success potential
    fall, the lowest first.
    """
    sql = (
        "SELECT subject_id, list(turn ORDER BY value, turn) FROM scores WHERE metric = "
        "'decisive_drop' AND stage IN (FROM unnest(?)) GROUP BY 1 ORDER BY 1"
    )
    return {identity: tuple(turns) for identity, turns in stage.select(sql, _before(stage))}


def solved_retries(stage: StageContext) -> Mapping[str, Mapping[int, Sequence[str]]]:
    """Failed trajectory -> pivot -> the retries from there that passed, of a `reflect_retry` before
    this stage.
    """
    stages = stage.run.ledger.state.stages
    keys = {stages[name].stage_key for name in _before(stage)}
    found = dict[str, dict[int, list[str]]]()
    for row in read(stage.run.ledger, RetryLabel, METRICS[RetryLabel]):
        retry = row.about.retry
        if row.stage_key in keys and row.value == 1 and retry is not None and row.turn is not None:
            found.setdefault(row.subject_id, {}).setdefault(row.turn, []).append(retry)

    return {
        identity: {turn: sorted(retries) for turn, retries in sorted(turns.items())}
        for identity, turns in sorted(found.items())
    }


def _before(stage: StageContext) -> list[str]:
    """The stages of the flow before this one."""
    names = list(stage.run.ledger.state.stages)
    return names[: names.index(stage.name)] if stage.name in names else names
