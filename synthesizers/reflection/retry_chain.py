"""A chain: a base trial and its retries, each from a turn of the attempt before and with all
lessons so far.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from synth.ledger.ledger import Decision, Score
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas import UNVERIFIED, Fault, Memo, Outcome, Task, Trajectory
from synth.stats.pdi import CarriedMemo
from synth.synthesizers.reflection.guidance import guidance_text, memo_of, memory_text
from synth.synthesizers.reflection.reflection import Reflected
from synth.synthesizers.reflection.token_cost import ArmResult, Tokens, improved, tokens_of_attempts
from synth.text.leaks import Leak, leaks, suspicions, usual_sentences
from synth.text.transcript.log import first_own_turn

LEAK, KEPT = "leak", "reflect_retry"
"""Filters under whose names the stage decides: no trace of guidance, and the keep condition."""
VERIFIED = "verified"


@dataclass(slots=True)
class Retry:
    """One retry: the attempt that it reflects on, the reflection and its tokens, the pivot, the
    result. `known`: the ledger has it, with the decisions on it.
    """

    of: Trajectory
    reflected: Reflected
    spent: Tokens
    pivot: int | None = None
    guidance: str | None = None
    memo: Memo | None = None
    attempts: Sequence[Trajectory] = ()
    found: Sequence[Leak] = ()
    suspected: Sequence[Leak] = ()
    keep: bool = False
    reason: str = ""
    known: bool = False

    @property
    def outcome(self) -> Trajectory | None:
        """The attempt that counts: the last, where it is valid."""
        last = self.attempts[-1] if self.attempts else None
        return last if last is not None and last.outcome is not Outcome.INVALID else None

    @property
    def earliest_trace(self) -> int | None:
        """The first turn that shows a trace of guidance, or may show one."""
        return min((one.turn for one in (*self.found, *self.suspected)), default=None)

    def decisions(self) -> list[Decision]:
        """Decides on a new attempt: whether it shows traces of guidance, and whether it meets the
        keep condition.
        """

        if self.outcome is None or self.known:
            return []

        identity = self.outcome.trajectory_id
        kept = Decision(identity, KEPT, self.keep, self.reason)

        return [Decision(identity, LEAK, *self._leaks()), kept]

    def _leaks(self) -> tuple[bool | None, str, float | None, Mapping[str, Any]]:
        """Whether it shows no traces of guidance, and why; undefined where a judge would have to
        say, and the filter `leaks` asks one.
        """
        found = self.found or self.suspected
        if not found:
            return True, "clean", None, {}

        first = found[0]
        shown = {"turn": first.turn, "what": first.what[:200], "findings": len(found)}
        if self.found:
            return False, first.kind, None, shown

        return None, UNVERIFIED, None, {"kind": first.kind, **shown}


@dataclass(slots=True)
class RetryChain:
    """The state of a chain; `reason` says why it ended, empty while it goes on, `verified` where a
    retry is kept.

    `exhausted`: it ended only because no more retries were allowed. `measured`: the settings of the
    measures, whose rows are `measures`; a chain is done only once it is measured. `arms`: the
    results of the comparison at equal cost.
    """

    key: str
    base: Trajectory
    task: Task | None
    gold_informed: bool
    memory: CarriedMemo | None = None
    retries: list[Retry] = field(default_factory=list)
    reason: str = ""
    fault: Fault | None = None
    exhausted: bool = False
    measured: Mapping[str, Any] = field(default_factory=dict)
    measures: Sequence[Score] = ()
    arms: dict[str, ArmResult] | None = None

    @property
    def outcomes(self) -> list[Trajectory]:
        """The attempts with a verdict, the base trial first."""
        return [self.base, *(one.outcome for one in self.retries if one.outcome is not None)]

    @property
    def last(self) -> Trajectory:
        """The latest attempt with a verdict."""
        return self.outcomes[-1]

    @property
    def kept(self) -> Trajectory | None:
        """The retry that is kept."""
        return self.last if self.reason == VERIFIED else None

    @property
    def lessons(self) -> list[str]:
        """All lessons so far, the oldest first."""
        said = [retry.reflected.reflection for retry in self.retries]
        return [one.improvement_suggestion for one in said if one and one.improvement_suggestion]

    @property
    def memos(self) -> list[tuple[str, Memo]]:
        """The memos so far, each with the attempt after which it was written."""
        return [(retry.of.trajectory_id, retry.memo) for retry in self.retries if retry.memo]

    @property
    def guidance(self) -> str:
        """The hidden guidance of the next retry."""
        if self.memory is None:
            return guidance_text(self.lessons)
        return memory_text([memo for _, memo in self.memos], self.memory)

    def reflected(self, told: Reflected) -> Retry | None:
        """Adds a reflection on the last attempt; the retry that follows from it, None where none
        does.
        """

        last = self.last
        said = told.reflection

        if told.reason is None and said is None:
            return None

        leaked = self.retries[-1].earliest_trace if self.retries else None
        retry = Retry(last, told, told.tokens(last, self.lessons))
        self.retries.append(retry)

        if said is None or said.retry_from_step is None:
            efficient = last.outcome is Outcome.SUCCESS
            self.fault = told.fault
            self.reason = told.reason or ("efficient" if efficient else "says_success")

            return None

        # a retry never starts after a leak of the attempt before: the leak would stay in its prefix
        latest = len(last.turns) if leaked is None else leaked
        retry.pivot = max(first_own_turn(last) or 0, min(said.retry_from_step, latest))
        retry.memo = memo_of(last, said, [memo for _, memo in self.memos])
        retry.guidance = self.guidance

        return retry

    def played(self, attempts: Sequence[Trajectory], *, more: bool) -> None:
        """Adds the attempts at the last retry's slot; `more`: a further retry may follow."""
        retry = self.retries[-1]
        retry.attempts = attempts
        result = retry.outcome

        if result is None:
            self.fault = attempts[-1].fault
            retry.reason = self.reason = f"fault:{self.fault}"
            return

        solved = result.outcome is Outcome.SUCCESS
        # what the unguided trial said as well gives nothing away
        usual = frozenset(usual_sentences(self.base))
        retry.found, retry.suspected = leaks(result), suspicions(result, usual=usual)
        retry.keep, retry.reason = improved(self.base, result)

        if retry.found and solved:
            self.reason = f"leak:{retry.found[0].kind}"
        elif retry.keep:
            self.reason = VERIFIED
        elif solved or not more:
            self.reason = retry.reason
            self.exhausted = not solved

    @property
    def settled(self) -> bool:
        """Whether a rerun would change nothing: it ended otherwise than by a fault whose cause may
        be gone by then.

        With a retry in the ledger it is settled even so: another reflection would begin another
        chain.
        """

        may_mend = self.fault in {*RETRIED_BY_A_RERUN, Fault.JUDGE}
        return bool(self.reason) and not (may_mend and self.last is self.base)

    def tokens(self) -> Tokens:
        """The tokens of all its reflections and retries."""
        used = (r.spent + tokens_of_attempts(r.attempts) for r in self.retries)
        return sum(used, Tokens())
