"""What a student makes of a retry: by how much its guidance made each turn likelier."""

from collections.abc import Collection, Mapping
from functools import partial
from math import isfinite

import msgspec

from synth.boundary import FaultError, guard_async
from synth.engine.asking import TOO_LONG, SourceMeans, told
from synth.filters.leaks.evidence import NO_SCORER, WEIGHT, JudgedLeak
from synth.filters.leaks.planted import (
    DIGITS,
    OTHER_TOKENS,
    NotScoredError,
    PlantedScores,
    planted_scores,
    weight,
)
from synth.models import assistant_turns
from synth.schemas import (
    ConfigError,
    Fault,
    Measure,
    Messages,
    ModelError,
    Scored,
    ScoringModel,
    ToolSchemas,
    Trajectory,
)
from synth.text.leaks.canary import without_canary
from synth.text.leaks.likelihood import WITHIN, turn_gains_of_each
from synth.text.leaks.scan import authored
from synth.text.leaks.suspicion import turn_odds


class Hearing(msgspec.Struct, frozen=True):
    """When a student is heard: it finds so many of the planted secrets, at so many harmless turns;
    `each` of both are planted in a situation.
    """

    finds: float
    most_false: float
    each: int


async def weight_of(
    trajectory: Trajectory, weak: Collection[int], role: str, how: Hearing, means: SourceMeans
) -> Measure:
    """How much says that a retry tells what it was whispered, under a role's model; or why nothing
    does, a fault too, which the next run tries again. `weak`: the turns that the rules alone only
    find likely to tell something.
    """
    scorer = _scorer(role, means)
    if scorer is None:
        return _none(NO_SCORER)

    asked, known = Checked(scorer, role), JudgedLeak(model=str(means.role(role).policy.model))
    planted = planted_scores(scorer, how.each)
    try:
        await planted.begin(asked)
        found = await heard(trajectory, weak, asked, planted, how)
    except NotScoredError as lost:
        return _none(str(lost), known)
    except FaultError as fault:
        return _lost(fault, role, msgspec.structs.replace(known, planted=planted.turns), means)

    if found.heard is not None:
        verb = "is heard" if found.heard else "is not heard"
        means.run.say_once(f"leaks: {role!r} {verb}: {planted.turns.told(how.most_false)}")
    means.run.role_breakers[role].answered()
    turn, most = max(found.weights, key=lambda one: one[1], default=(None, None))

    return Measure(WEIGHT, most, turn, msgspec.structs.replace(found, model=known.model))


async def heard(
    trajectory: Trajectory,
    weak: Collection[int],
    student: ScoringModel,
    planted: PlantedScores,
    how: Hearing,
) -> JudgedLeak:
    """What a student makes of a retry, and whether it is heard, where that makes a difference: not
    where none of its turns weighs much and the rules suspect none. Raises `NotScoredError`.
    """
    reason, weights = None, dict[int, float]()
    try:
        given = await weights_of(trajectory, student)
        weights = {turn: round(value, DIGITS) for turn, value in given.items()}
    except NotScoredError as lost:
        reason = str(lost)
    except FaultError as fault:
        if not fault.context_overflow:
            raise
        reason = TOO_LONG

    heaviest = sorted(weights, key=lambda turn: -weights[turn])
    likely = [
        turn for turn in heaviest if await planted.outweighs(weights[turn], how.most_false, student)
    ]
    believed = None
    if likely or reason is not None or not weights.keys().isdisjoint(weak):
        believed = await planted.hear(how.finds, how.most_false, student)

    return JudgedLeak(
        reason=reason,
        weights=tuple(weights.items()),
        planted=planted.turns,
        heard=believed,
        likely=tuple(sorted(likely)) if believed else (),
    )


def _scorer(role: str, means: SourceMeans) -> ScoringModel | None:
    """The role's model as one that gives probabilities; None where the flow or its engine has
    none.
    """
    try:
        return means.scoring(role) if means.has(role) else None
    except ConfigError as error:
        means.run.say_once(f"leaks: {role!r} weighs no turns: {error}")
        return None


async def weights_of(trajectory: Trajectory, scorer: ScoringModel) -> Mapping[int, float]:
    """The weight of every turn in which the guided agent wrote. Raises `NotScoredError`."""
    lesson = without_canary(trajectory.guidance or "")
    heard = _Heard(scorer)
    (found,) = await turn_gains_of_each(heard, trajectory, [lesson], WITHIN)
    first = trajectory.pivot_turn or 0
    own = {one.index for one in trajectory.turns if one.index >= first and any(authored(one))}

    # a turn without a gain was looked at by nobody
    if found is None or not own <= found.keys():
        raise NotScoredError(heard.refused or OTHER_TOKENS)

    odds = turn_odds(trajectory)
    return {turn: weight(gain, odds[turn]) for turn, gain in found.items() if turn in odds}


def _none(reason: str, known: JudgedLeak | None = None) -> Measure:
    about = msgspec.structs.replace(known or JudgedLeak(), reason=reason)
    return Measure(WEIGHT, None, about=about)


def _lost(fault: FaultError, role: str, known: JudgedLeak, means: SourceMeans) -> Measure:
    """That a failing student says nothing."""
    means.run.faulted(fault, role)
    means.run.may_start()  # refusals in a row end the run
    return Measure(WEIGHT, None, about=told(fault, JudgedLeak))


class _Heard:
    """A student, and why it gave no tokens."""

    def __init__(self, scorer: ScoringModel) -> None:
        self._scorer = scorer
        self.refused: str | None = None

    async def score(self, messages: Messages, tools: ToolSchemas) -> Scored:
        found = await self._scorer.score(messages, tools)
        long = found.not_scored == assistant_turns.TOO_LONG
        self.refused = self.refused or (TOO_LONG if long else found.not_scored)
        return found

    async def close(self) -> None:
        """Whoever has opened the student closes it."""


class Checked:
    """A student whose answers are numbers, and whose failures are faults of the boundary."""

    def __init__(self, scorer: ScoringModel, role: str) -> None:
        self._scorer, self._role = scorer, role

    async def score(self, messages: Messages, tools: ToolSchemas) -> Scored:
        """Raises `FaultError`."""
        ask = partial(self._finite, messages, tools)
        return await guard_async(Fault.JUDGE, self._role, ask, None)

    async def close(self) -> None:
        """Whoever has opened the student closes it."""

    async def _finite(self, messages: Messages, tools: ToolSchemas) -> Scored:
        found = await self._scorer.score(messages, tools)
        if not all(isfinite(token.logprob) for token in found.tokens):
            raise ModelError("it gave a log-probability that is no finite number")
        return found
