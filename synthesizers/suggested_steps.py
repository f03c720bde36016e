"""Proposes the steps of a failed trajectory that are worth a test: steps that a judge suspects,
drops of the success potential, rules.

These are proposals only: continuations decide, and a judge's silence is no label either.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest

import msgspec

from synth.engine.asking import Answer, RoleClient, RoleRequest, UnreadableError, prompt
from synth.engine.study.stage_context import StageContext
from synth.schemas.model import Completion
from synth.schemas.trajectory import SampledBy, Trajectory, Turn
from synth.text.transcript.log import log_of

JUDGE = "judge"
"""The role that is asked, where a flow has it."""
_LIST = re.compile(r"\[[\d,\s]*\]")


class SuggestedStep(msgspec.Struct, frozen=True):
    """A turn, and the rule that proposes it."""

    turn: int
    rule: str


def proposed(
    trajectory: Trajectory,
    successes: Sequence[Trajectory],
    most: int,
    suspected: Sequence[int] = (),
    dropped: Sequence[int] = (),
) -> list[SuggestedStep]:
    """At most `most` turns, from a judge's list, the turns at which the success potential fell, and
    four rules in turn, each turn once.

    `judge`: the turns that a judge suspects, in its order. `drop`: those in `dropped`, the lowest
    first, where the stage `topology` ran before. `departure`: the first turn after which no success
    among the task's trials was ever in the same state. `effect`: turns that changed the state and
    were not refused, the latest first. `error`: turns answered by an error, the first first.
    `last`: the last turn. Turns that the policy did not decide are never proposed.
    """

    turns = _own(trajectory)
    refused = [turn for turn in turns if any(seen.error for seen in turn.observations)]
    taken = [turn for turn in turns if not any(seen.error for seen in turn.observations)]
    rules: Mapping[str, Sequence[Turn]] = {
        "judge": [turn for index in suspected for turn in turns if turn.index == index],
        "drop": [turn for index in dropped for turn in turns if turn.index == index],
        "departure": _departure(turns, successes),
        "effect": [turn for turn in reversed(taken) if _changed(trajectory, turn)],
        "error": refused,
        "last": turns[-1:],
    }

    steps = [[SuggestedStep(turn.index, rule) for turn in found] for rule, found in rules.items()]
    found: dict[int, SuggestedStep] = {}

    for round_ in zip_longest(*steps):
        for step in filter(None, round_):
            found.setdefault(step.turn, step)

    return list(found.values())[:most]


def _own(trajectory: Trajectory) -> list[Turn]:
    """The turns that the policy decided."""
    return [turn for turn in trajectory.turns if turn.sampled_by is SampledBy.POLICY]


def _departure(turns: Sequence[Turn], successes: Sequence[Trajectory]) -> Sequence[Turn]:
    """The first turn after which no success was ever in the same state."""
    passed = {turn.state_key for success in successes for turn in success.turns} - {None}
    left = [turn for turn in turns if turn.state_key not in {None, *passed}]
    return left[:1] if passed else ()


def _changed(trajectory: Trajectory, turn: Turn) -> bool:
    """Whether the turn changed the state."""
    before = (
        trajectory.turns[turn.index - 1].state_key if turn.index else trajectory.opening_state_key
    )
    return turn.state_key is not None and turn.state_key != before


async def judge_proposals(
    asking: RoleClient, trajectory: Trajectory, most: int
) -> Answer[tuple[int, ...]]:
    """Asks the judge for at most `most` turns of the policy's own. An answer that cannot be read,
    or never will come since the context is too long, proposes none; one without a value is left to
    a rerun.
    """

    own = [turn.index for turn in _own(trajectory)]

    def read(completion: Completion) -> tuple[int, ...]:
        lists = _LIST.findall(completion.content or "")
        if len(lists) != 1:
            raise UnreadableError("it holds no JSON list of step numbers, or several")

        named = tuple(dict.fromkeys(msgspec.json.decode(lists[0], type=list[int])))
        if not set(named) <= set(own):
            raise UnreadableError(
                f"it names steps that the agent did not take; the log has {own[0]} to {own[-1]}"
            )
        return named[:most]

    if not own:
        return Answer(())

    form = prompt("judge/steps_form").format(most)
    question = RoleRequest(
        purpose="suspected_steps",
        subject_id=trajectory.trajectory_id,
        task_id=trajectory.task_id,
        messages=[
            {"role": "system", "content": prompt("judge/steps_role")},
            {"role": "user", "content": f"{log_of(trajectory)}\n\n{form}"},
        ],
    )
    answer = await asking.ask(question, read)
    too_long = answer.fault is not None and answer.fault.context_overflow
    over = too_long or answer.unreadable is not None

    return Answer((), answer.replies) if over else answer


def decisive_drops(stage: StageContext) -> Mapping[str, Sequence[int]]:
    """Trajectory -> the turns at which a `topology` before this stage saw the success potential
    fall, the lowest first.
    """

    names = list(stage.run.ledger.state.stages)
    before = names[: names.index(stage.name)] if stage.name in names else names
    sql = (
        "SELECT subject_id, list(turn ORDER BY value, turn) FROM scores WHERE metric = "
        "'decisive_drop' AND stage IN (FROM unnest(?)) GROUP BY 1 ORDER BY 1"
    )

    return {identity: tuple(turns) for identity, turns in stage.select(sql, before)}
