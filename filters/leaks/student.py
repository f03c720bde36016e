"""What a student makes of a retry: by how much its guidance made each turn likelier."""

from collections.abc import Mapping
from functools import partial
from math import isfinite

import msgspec

from synth.boundary import FaultError, guard_async
from synth.engine.asking import TOO_LONG, SourceMeans, told
from synth.filters.leaks.evidence import NO_SCORER, WEIGHT, JudgedLeak
from synth.filters.leaks.planted import DIGITS, OTHER_TOKENS, NotScoredError, planted_gains, weight
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


async def weight_of(trajectory: Trajectory, role: str, means: SourceMeans) -> Measure:
    """How much says that a retry tells what it was whispered, under a role's model; or why nothing
    does, a fault too, which the next run tries again.
    """
    scorer = _scorer(role, means)
    if scorer is None:
        return _none(NO_SCORER)

    asked, known = Checked(scorer, role), JudgedLeak(model=str(means.role(role).policy.model))
    try:
        planted = await planted_gains(scorer, asked)
        known = msgspec.structs.replace(known, planted=planted)
        found = await weights_of(trajectory, asked)
    except NotScoredError as lost:
        return _none(str(lost), known)
    except FaultError as fault:
        return _lost(fault, role, known, means)

    means.run.role_breakers[role].answered()
    pairs = tuple((turn, round(value, DIGITS)) for turn, value in found.items())
    turn, most = max(pairs, key=lambda one: one[1], default=(None, None))

    return Measure(WEIGHT, most, turn, msgspec.structs.replace(known, weights=pairs))


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
    """Why a failing student says nothing: a retry too long for it is no fault."""
    if fault.context_overflow:
        return _none(TOO_LONG, known)

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
