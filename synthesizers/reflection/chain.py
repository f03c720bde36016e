"""A chain: a base trial and the retries that follow from it, each from a turn of the one before,
with all lessons so far.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from synth.ledger.ledger import Decision, Score
from synth.ledger.role_reply import RoleReply
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas.labels import Memo, RetryLabel
from synth.schemas.outcome import Fault, Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.stats.pdi import CarriedMemo
from synth.synthesizers.reflection.carried import carried_scores, carried_text
from synth.synthesizers.reflection.guidance import guidance_text
from synth.synthesizers.reflection.memo import memo_of
from synth.synthesizers.reflection.price import (
    Prices,
    Tokens,
    tokens_of_attempts,
    tokens_of_reflection,
)
from synth.synthesizers.reflection.question import reflection_messages
from synth.synthesizers.reflection.reflectors import Reflected
from synth.text.leaks import Leak, leaks
from synth.text.transcript.log import first_own_turn

CHAIN, REFLECTION = "reflect_retry", "reflection"
"""Metrics: of a chain, on its base trial; of a reflection, on the attempt that it is about."""
LEAK, KEPT = "leak", "reflect_retry"
"""Filters under whose names the stage decides: no trace of guidance, and the keep condition."""
VERIFIED = "verified"


class ChainEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A chain as it is committed, under its key.

    `exhausted`: it ended only because no more retries were allowed; `made` of them were. `measured`:
    how its kept retry was measured; `arms`: what the arms of the comparison came to.
    """

    chain: str
    key: str
    reason: str
    settled: bool
    retries: tuple[str, ...]
    made: int
    exhausted: bool
    measured: Mapping[str, Any]
    gold_informed: bool
    task: str
    price: float
    estimated: int
    arms: Mapping[str, Mapping[str, int | float]] | None = None


@dataclass(slots=True)
class Retry:
    """One retry: the attempt that it reflects on with the lessons given for that, what was said of
    it, where it starts, what came of it.
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
    """Whether the ledger has it, with the decisions on it."""

    @property
    def outcome(self) -> Trajectory | None:
        """The attempt that counts: the last, where it is valid."""
        return (
            self.attempts[-1]
            if self.attempts and self.attempts[-1].outcome is not Outcome.INVALID
            else None
        )


@dataclass(slots=True)
class Chain:
    """What is known of a chain so far; `reason` says why it ended, empty while it goes on,
    `verified` where a retry is kept.

    `exhausted`: it ended only because no more retries were allowed. `measured`: how its kept retry
    was measured, and with `measures` what
    came of that; a chain that is still to be measured is not done.
    """

    key: str
    base: Trajectory
    task: Task | None
    gold_informed: bool
    retries: list[Retry] = field(default_factory=list)
    reason: str = ""
    fault: Fault | None = None
    exhausted: bool = False
    measured: Mapping[str, Any] = field(default_factory=dict)
    measures: list[Score] = field(default_factory=list)
    replies: list[RoleReply] = field(default_factory=list)
    carry: CarriedMemo | None = None

    @property
    def last(self) -> Trajectory:
        """The latest attempt with a verdict."""
        return next(
            (retry.outcome for retry in reversed(self.retries) if retry.outcome is not None),
            self.base,
        )

    @property
    def kept(self) -> Trajectory | None:
        """The retry that it came to."""
        return self.last if self.reason == VERIFIED else None

    @property
    def lessons(self) -> list[str]:
        """All so far, the oldest first: the part of the memo that is whispered."""
        said = [retry.reflected.reflection for retry in self.retries]
        return [
            each.improvement_suggestion
            for each in said
            if each is not None and each.improvement_suggestion is not None
        ]

    def reflected(self, told: Reflected) -> Retry | None:
        """Takes in a reflection on the last attempt; None where no retry follows from it."""
        retry = Retry(self.last, told, tuple(self.lessons))
        reflection = told.reflection
        if told.reason is not None or (
            reflection is not None and reflection.retry_from_step is None
        ):
            self.retries.append(retry)
            self.fault = told.fault
            self.reason = told.reason or (
                "says_success" if self.last.outcome is not Outcome.SUCCESS else "efficient"
            )
            return None
        if reflection is None or reflection.retry_from_step is None:
            return None
        retry.memo = memo_of(
            self.last,
            reflection,
            [earlier.memo for earlier in self.retries if earlier.memo is not None],
        )
        leaked = (
            self.retries[-1].found[0].turn
            if self.retries and self.retries[-1].found
            else len(self.last.turns)
        )
        retry.pivot = max(first_own_turn(self.last) or 0, min(reflection.retry_from_step, leaked))
        self.retries.append(retry)
        retry.guidance = (
            guidance_text(self.lessons)
            if self.carry is None
            else carried_text([m for _, m in self._memos()], self.carry)
        )
        return retry

    def _memos(self) -> list[tuple[str, Memo]]:
        """The memos so far, each with the attempt after which it was written."""
        return [
            (retry.of.trajectory_id, retry.memo) for retry in self.retries if retry.memo is not None
        ]

    def _carried(self) -> list[Score]:
        if self.carry is None:
            return []
        attempts = [
            self.base,
            *(retry.outcome for retry in self.retries if retry.outcome is not None),
        ]
        return carried_scores(self.key, self._memos(), attempts, self.carry)

    def played(self, attempts: Sequence[Trajectory], *, more: bool) -> None:
        """Takes in the attempts at the last retry's slot; `more`: a further retry may follow."""
        retry = self.retries[-1]
        retry.attempts = list(attempts)
        result = retry.outcome
        if result is None:
            self.fault = attempts[-1].fault
            retry.reason = self.reason = f"fault:{self.fault}"
            return
        retry.found = leaks(result)
        retry.keep, retry.reason = improved(self.base, result)
        if retry.found and result.outcome is Outcome.SUCCESS:
            self.reason = f"leak:{retry.found[0].kind}"
        elif retry.keep:
            self.reason = VERIFIED
        elif result.outcome is Outcome.SUCCESS or not more:
            self.reason = retry.reason
            self.exhausted = result.outcome is not Outcome.SUCCESS

    @property
    def settled(self) -> bool:
        """Whether it ended otherwise than by a fault whose cause may be gone when the flow is run
        again.

        With a retry in the ledger it is settled even so: another reflection would begin another
        chain.
        """
        may_mend = self.fault is not None and self.fault in {*RETRIED_BY_A_RERUN, Fault.JUDGE}
        return bool(self.reason) and not (
            may_mend and all(retry.outcome is None for retry in self.retries)
        )

    def tokens(self) -> Tokens:
        """What all its reflections and retries have used."""
        total = Tokens()
        for retry in self.retries:
            total = total + self.reflection_tokens(retry) + tokens_of_attempts(retry.attempts)
        return total

    def reflection_tokens(self, retry: Retry) -> Tokens:
        """What one reflection has used."""
        if retry.reflected.spent is not None:
            return retry.reflected.spent
        said = retry.reflected.reflection
        text = "" if said is None else msgspec.json.encode(said).decode()
        return tokens_of_reflection(
            reflection_messages(retry.of, retry.lessons), text, retry.reflected.replies
        )

    def decisions(self) -> list[Decision]:
        """Of each new retry with a verdict: whether it shows traces of guidance, and whether it
        meets the keep condition.
        """
        decided = []
        for retry in (retry for retry in self.retries if not retry.known):
            if (result := retry.outcome) is not None:
                first = retry.found[0] if retry.found else None
                shown = (
                    None
                    if first is None
                    else {
                        "turn": first.turn,
                        "what": first.what[:200],
                        "findings": len(retry.found),
                    }
                )
                decided.append(
                    Decision(
                        result.trajectory_id,
                        LEAK,
                        first is None,
                        first.kind if first else "clean",
                        detail=shown,
                    )
                )
                decided.append(Decision(result.trajectory_id, KEPT, retry.keep, retry.reason))
        return decided

    def scores(
        self, prices: Prices, arms: Mapping[str, Mapping[str, int | float]] | None = None
    ) -> list[Score]:
        """A row per reflection, and one for the chain, with the `arms` of the comparison."""
        rows = [
            self._reflection_score(number, retry)
            for number, retry in enumerate(self.retries, start=1)
        ]
        tokens = self.tokens()
        end = ChainEnd(
            chain=self.base.trajectory_id,
            key=self.key,
            reason=self.reason,
            settled=self.settled,
            retries=tuple(
                attempt.trajectory_id for retry in self.retries for attempt in retry.attempts
            ),
            made=sum(bool(retry.attempts) for retry in self.retries),
            exhausted=self.exhausted,
            measured=self.measured,
            gold_informed=self.gold_informed,
            task=self.base.task_id,
            price=tokens.at(prices),
            estimated=tokens.estimated,
            arms=arms,
        )
        return [
            *rows,
            *self._carried(),
            *self.measures,
            Score(self.base.trajectory_id, CHAIN, float(self.reason == VERIFIED), detail=end),
        ]

    def _reflection_score(self, number: int, retry: Retry) -> Score:
        result, said = retry.outcome, retry.reflected.reflection
        label = RetryLabel(
            chain=self.base.trajectory_id,
            key=self.key,
            attempt=number,
            retry=None if result is None else result.trajectory_id,
            reflection=None if said is None else msgspec.to_builtins(said),
            memo=retry.memo,
            why_none=retry.reflected.reason,
            what_was_wrong=retry.reflected.detail,
            gold_informed=self.gold_informed,
            pivot=retry.pivot,
            r1=solved(retry.of),
            r2=None if result is None else solved(result),
            steps1=len(retry.of.turns),
            steps2=None if result is None else len(result.turns),
            tokens=msgspec.to_builtins(self.reflection_tokens(retry)),
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
    return (
        (True, "fewer_steps") if len(retry.turns) < len(base.turns) else (False, "no_improvement")
    )
