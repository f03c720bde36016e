"""Items of rubrics that need no judge, from 0 to 1 (FinTrace's names; the computations are ours:
its formulas are not published).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import msgspec

from synth.schemas import Case, Outcome, ToolCall, canonical_json
from synth.topology.keys import trajectory_keys


class Computation(msgspec.Struct, frozen=True):
    """A value, or the reason why there is none."""

    value: float | None
    reason: str | None = None


_NO_GOLD = Computation(None, "no_gold_calls")
_NO_SUCCESS = Computation(None, "no_success")


def tool_calling_f1(case: Case) -> Computation:
    """F1 of the multiset of calls (name and canonical arguments) against the task's gold calls;
    undefined without gold.
    """
    if case.task is None or case.task.gold is None:
        return _NO_GOLD

    made = _counted(call for turn in case.trajectory.turns for call in turn.tool_calls)
    gold = _counted(case.task.gold)
    calls = made.total() + gold.total()

    return Computation(2 * (made & gold).total() / calls if calls else 1.0)


def step_efficiency(case: Case) -> Computation:
    """min(1, gold calls / calls) of a success: who stops early is not efficient."""
    if case.task is None or case.task.gold is None:
        return _NO_GOLD
    if case.trajectory.outcome is not Outcome.SUCCESS:
        return _NO_SUCCESS

    made = sum(len(turn.tool_calls) for turn in case.trajectory.turns)
    return Computation(min(1.0, len(case.task.gold) / made) if made else 1.0)


def redundancy(case: Case) -> Computation:
    """1 - repeated acts in an unchanged state / acting turns, of a success."""
    if case.trajectory.outcome is not Outcome.SUCCESS:
        return _NO_SUCCESS

    # the state before a turn: the environment's key, or the answer where it gives none
    before = case.trajectory.opening_state_key or ""
    acts = []

    for key in trajectory_keys(case.trajectory):
        if key.taken.tool_calls:
            acts.append((before, key.action))
        state = key.taken.state_key
        before = state if state is not None else key.observation

    repeated = len(acts) - len(set(acts))
    return Computation(1 - repeated / len(acts)) if acts else Computation(None, "no_calls")


def task_pass_rate(case: Case) -> Computation:
    """1 for a success, 0 for what is none; undefined where no verdict is known."""
    outcome = case.trajectory.outcome
    if outcome in (Outcome.UNKNOWN, Outcome.INVALID):
        return Computation(None, "no_verdict")
    return Computation(1.0 if outcome is Outcome.SUCCESS else 0.0)


RULES: Mapping[str, Callable[[Case], Computation]] = {
    rule.__name__: rule for rule in (tool_calling_f1, step_efficiency, redundancy, task_pass_rate)
}


def _counted(calls: Iterable[ToolCall]) -> Counter[tuple[str, bytes | str]]:
    """Calls by name and arguments, whatever the order of the arguments; text that is no JSON object
    counts as it stands.
    """
    return Counter(
        (call.name, canonical_json(call.parsed()) if call.parse_error is None else call.arguments)
        for call in calls
    )
