"""A chain: a base trial and the retries that follow from it, each from a turn of the one before,
with all lessons so far.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from synth.ledger.ledger import Decision, Score
from synth.ledger.tables.role_reply import RoleReply
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas.labels import Memo, RetryLabel
from synth.schemas.outcome import Fault, Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.stats.pdi import CarriedMemo
from synth.synthesizers.reflection.guidance import (
    carried_scores,
    carried_text,
    guidance_text,
    memo_of,
)
from synth.synthesizers.reflection.recorded import (
    CHAIN,
    REFLECTION,
    VERIFIED,
    ArmResult,
    ChainEnd,
)
from synth.synthesizers.reflection.reflectors import Reflected
from synth.synthesizers.reflection.token_cost import Prices, Tokens, tokens_of_attempts
from synth.text.leaks import Leak, leaks
from synth.text.transcript.log import first_own_turn

LEAK, KEPT = "leak", "reflect_retry"
"""Filters under whose names the stage decides: no trace of guidance, and the keep condition."""


@dataclass(slots=True)
class Retry:
    """One retry: the attempt that it reflects on with the lessons given for that, what was said of
    it, where it starts, what came of it. `known`: the ledger has it, with the decisions on it.
    """

    of: Trajectory
    reflected: Reflected
    lessons: tuple[str, ...] = ()
    pivot: int | None = None
    guidance: str | None = None
    memo: Memo | None = None
    attempts: list[Trajectory] = field(default_factory=list)
    found: tuple[Leak, ...] = ()
    keep: bool = False
    reason: str = ""
    known: bool = False

    @property
    def outcome(self) -> Trajectory | None:
        """The attempt that counts: the last, where it is valid."""
        last = self.attempts[-1] if self.attempts else None
        return last if last is not None and last.outcome is not Outcome.INVALID else None

    @property
    def reflection_tokens(self) -> Tokens:
        """What the reflection has used."""
        return self.reflected.tokens(self.of, self.lessons)

    def decisions(self) -> list[Decision]:
        """Where there is a new verdict: whether the retry shows traces of guidance, and whether it
        meets the keep condition.
        """
        result = self.outcome
        if result is None or self.known:
            return []
        first = self.found[0] if self.found else None
        shown = (
            None
            if first is None
            else {
                "turn": first.turn,
                "what": first.what[:200],
                "findings": len(self.found),
            }
        )
        identity, kind = result.trajectory_id, first.kind if first else "clean"
        leak = Decision(identity, LEAK, first is None, kind, detail=shown)
        return [leak, Decision(identity, KEPT, self.keep, self.reason)]


@dataclass(slots=True)
class Chain:
    """What is known of a chain so far; `reason` says why it ended, empty while it goes on,
    `verified` where a retry is kept.

    `exhausted`: it ended only because no more retries were allowed. `measured`: how its kept retry
    was measured, and with `measures` what came of that; a chain that is still to be measured is not
    done. `arms`: what the comparison at equal cost came to.
    """

    key: str
    base: Trajectory
    task: Task | None
    gold_informed: bool
    carry: CarriedMemo | None = None
    retries: list[Retry] = field(default_factory=list)
    reason: str = ""
    fault: Fault | None = None
    exhausted: bool = False
    measured: Mapping[str, Any] = field(default_factory=dict)
    measures: list[Score] = field(default_factory=list)
    replies: list[RoleReply] = field(default_factory=list)
    arms: dict[str, ArmResult] | None = None

    @property
    def outcomes(self) -> list[Trajectory]:
        """The attempts with a verdict, the base trial first."""
        return [self.base, *(r.outcome for r in self.retries if r.outcome is not None)]

    @property
    def last(self) -> Trajectory:
        """The latest attempt with a verdict."""
        return self.outcomes[-1]

    @property
    def kept(self) -> Trajectory | None:
        """The retry that it came to."""
        return self.last if self.reason == VERIFIED else None

    @property
    def lessons(self) -> list[str]:
        """All so far, the oldest first: the part of the memo that is whispered."""
        said = [retry.reflected.reflection for retry in self.retries]
        return [one.improvement_suggestion for one in said if one and one.improvement_suggestion]

    @property
    def memos(self) -> list[tuple[str, Memo]]:
        """The memos so far, each with the attempt after which it was written."""
        return [(retry.of.trajectory_id, retry.memo) for retry in self.retries if retry.memo]

    def reflected(self, told: Reflected) -> Retry | None:
        """Takes in a reflection on the last attempt; None where no retry follows from it."""
        last, said = self.last, told.reflection
        if told.reason is None and said is None:
            return None
        retry = Retry(last, told, tuple(self.lessons))
        step = None if said is None else said.retry_from_step
        if told.reason is not None or said is None or step is None:
            solved = last.outcome is Outcome.SUCCESS
            self.fault = told.fault
            self.reason = told.reason or ("efficient" if solved else "says_success")
            self.retries.append(retry)
            return None
        found = self.retries[-1].found if self.retries else ()
        leaked = found[0].turn if found else len(last.turns)
        retry.pivot = max(first_own_turn(last) or 0, min(step, leaked))
        retry.memo = memo_of(last, said, [memo for _, memo in self.memos])
        self.retries.append(retry)
        retry.guidance = (
            guidance_text(self.lessons)
            if self.carry is None
            else carried_text([memo for _, memo in self.memos], self.carry)
        )
        return retry

    def played(self, attempts: Sequence[Trajectory], *, more: bool) -> None:
        """Takes in the attempts at the last retry's slot; `more`: a further retry may follow."""
        retry = self.retries[-1]
        retry.attempts = list(attempts)
        result = retry.outcome
        if result is None:
            self.fault = attempts[-1].fault
            retry.reason = self.reason = f"fault:{self.fault}"
            return
        solved = result.outcome is Outcome.SUCCESS
        retry.found = leaks(result)
        retry.keep, retry.reason = improved(self.base, result)
        if retry.found and solved:
            self.reason = f"leak:{retry.found[0].kind}"
        elif retry.keep:
            self.reason = VERIFIED
        elif solved or not more:
            self.reason, self.exhausted = retry.reason, not solved

    @property
    def settled(self) -> bool:
        """Whether it ended otherwise than by a fault whose cause may be gone when the flow is run
        again.

        With a retry in the ledger it is settled even so: another reflection would begin another
        chain.
        """
        may_mend = self.fault in {*RETRIED_BY_A_RERUN, Fault.JUDGE}
        return bool(self.reason) and not (may_mend and self.last is self.base)

    def tokens(self) -> Tokens:
        """What all its reflections and retries have used."""
        used = (r.reflection_tokens + tokens_of_attempts(r.attempts) for r in self.retries)
        return sum(used, Tokens())

    def scores(self, prices: Prices) -> list[Score]:
        """A row per reflection, what was measured, and a row for the chain."""
        tokens, rows = self.tokens(), list(map(self._reflection_score, range(len(self.retries))))
        if self.carry is not None:
            rows += carried_scores(self.key, self.memos, self.outcomes, self.carry)
        made = [retry.attempts for retry in self.retries if retry.attempts]
        end = ChainEnd(
            chain=self.base.trajectory_id,
            key=self.key,
            reason=self.reason,
            settled=self.settled,
            retries=tuple(attempt.trajectory_id for attempts in made for attempt in attempts),
            made=len(made),
            exhausted=self.exhausted,
            measured=self.measured,
            gold_informed=self.gold_informed,
            task=self.base.task_id,
            price=tokens.at(prices),
            estimated=tokens.estimated,
            arms=self.arms,
        )
        value = float(self.reason == VERIFIED)
        return [*rows, *self.measures, Score(end.chain, CHAIN, value, detail=end)]

    def _reflection_score(self, at: int) -> Score:
        retry = self.retries[at]
        result, said = retry.outcome, retry.reflected.reflection
        label = RetryLabel(
            chain=self.base.trajectory_id,
            key=self.key,
            attempt=at + 1,
            retry=None if result is None else result.trajectory_id,
            reflection=msgspec.to_builtins(said),
            memo=retry.memo,
            why_none=retry.reflected.reason,
            what_was_wrong=retry.reflected.detail,
            gold_informed=self.gold_informed,
            pivot=retry.pivot,
            r1=solved(retry.of),
            r2=None if result is None else solved(result),
            steps1=len(retry.of.turns),
            steps2=None if result is None else len(result.turns),
            tokens=msgspec.to_builtins(retry.reflection_tokens),
            leaks=tuple(msgspec.to_builtins(leak) for leak in retry.found),
        )
        value = None if result is None else float(retry.keep and not retry.found)
        return Score(retry.of.trajectory_id, REFLECTION, value, retry.pivot, label)


def solved(trajectory: Trajectory) -> float:
    """R: 1 where the check passed within the limits, else 0; a truncated attempt is not solved."""
    return float(trajectory.outcome is Outcome.SUCCESS)


def improved(base: Trajectory, retry: Trajectory) -> tuple[bool, str]:
    """The keep condition: (R2 > R1 and R2 >= 1) or (R2 >= 1 and fewer steps); and its reason in a
    word.
    """
    if solved(retry) < 1:
        return False, f"still_{retry.outcome.value}"
    if solved(retry) > solved(base):
        return True, "solved"
    fewer = len(retry.turns) < len(base.turns)
    return fewer, "fewer_steps" if fewer else "no_improvement"
