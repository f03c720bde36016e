"""Items of rubrics that need no judge, from 0 to 1 (FinTrace's names; the computations are ours:
its formulas are not published).
"""

from collections import Counter
from collections.abc import Callable, Mapping

import msgspec

from synth.schemas.canonical import canonical_json
from synth.schemas.filter import Case
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import SampledBy, ToolCall
from synth.topology.keys import trajectory_keys


class Computation(msgspec.Struct, frozen=True):
    """A value, or the reason why there is none."""

    value: float | None
    reason: str | None = None


def tool_calling_f1(case: Case) -> Computation:
    """F1 of the multiset of calls (name and canonical arguments) against the task's gold calls;
    undefined without gold.
    """
    if case.task is None or case.task.gold is None:
        return Computation(None, "no_gold_calls")
    made = Counter(_key(call) for turn in case.trajectory.turns for call in turn.tool_calls)
    gold = Counter(_key(call) for call in case.task.gold)
    if not made and not gold:
        return Computation(1.0)
    return Computation(2 * (made & gold).total() / (made.total() + gold.total()))


def step_efficiency(case: Case) -> Computation:
    """min(1, gold calls / calls) of a success: who stops early is not efficient."""
    if case.task is None or case.task.gold is None:
        return Computation(None, "no_gold_calls")
    if case.trajectory.outcome is not Outcome.SUCCESS:
        return Computation(None, "no_success")
    made = sum(len(turn.tool_calls) for turn in case.trajectory.turns)
    return Computation(min(1.0, len(case.task.gold) / made) if made else 1.0)


def redundancy(case: Case) -> Computation:
    """1 - repeated acts in an unchanged state / acting turns, of a success."""
    if case.trajectory.outcome is not Outcome.SUCCESS:
        return Computation(None, "no_success")
    keys = trajectory_keys(case.trajectory)
    turns = [turn for turn in case.trajectory.turns if turn.sampled_by is not SampledBy.CANNED]
    seen: set[tuple[str, str]] = set()
    before, acts, repeated = case.trajectory.opening_state_key or "", 0, 0
    for turn, key in zip(turns, keys, strict=True):
        if turn.tool_calls:
            acts += 1
            repeated += (before, key.action) in seen
            seen.add((before, key.action))
        before = turn.state_key if turn.state_key is not None else key.observation
    return Computation(1 - repeated / acts) if acts else Computation(None, "no_calls")


def task_pass_rate(case: Case) -> Computation:
    """1 for a success, 0 for what is none; undefined where no verdict is known."""
    if case.trajectory.outcome in (Outcome.UNKNOWN, Outcome.INVALID):
        return Computation(None, "no_verdict")
    return Computation(1.0 if case.trajectory.outcome is Outcome.SUCCESS else 0.0)


RULES: Mapping[str, Callable[[Case], Computation]] = {
    "tool_calling_f1": tool_calling_f1,
    "step_efficiency": step_efficiency,
    "redundancy": redundancy,
    "task_pass_rate": task_pass_rate,
}


def _key(call: ToolCall) -> tuple[str, bytes | str]:
    return call.name, call.arguments if call.parse_error is not None else canonical_json(
        call.parsed()
    )
