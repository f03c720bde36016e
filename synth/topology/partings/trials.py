"""Trials of one task, each as digests of what it saw and did, turn by turn."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from synth.ledger.ledger import StoredLedger
from synth.loss_turns import EVIDENCE, mask_reason
from synth.schemas import Outcome, Trajectory, content_hash, to_messages, turn_messages
from synth.text.transcript.acts import act_digest

_IDS = ("tool_call_id", "id")
_DECIDED = (Outcome.SUCCESS.value, Outcome.FAILURE.value)


class PartingStep(msgspec.Struct, frozen=True):
    """A turn: `before` is the digest of all that was shown before it, `act` that of what was done,
    `said` that of all that the turn wrote. `why` it can be no side of a comparison, or None.
    """

    before: str
    act: str
    said: str
    calls: bool
    why: str | None = None


class SeenTrial(msgspec.Struct, frozen=True):
    """A decided trial. `shown`: digest of system prompt and tools."""

    identity: str
    policy: str
    passed: bool
    shown: str
    steps: tuple[PartingStep, ...]


def mixed_groups(ledger: StoredLedger) -> dict[str, list[SeenTrial]]:
    """The trials of each task that was tried with both outcomes; those of one outcome alone, or
    none, where what had the other one is no trial (a branch of an attempt, a retry that was told
    something). Only trials of such tasks are read, one at a time; a few hundred bytes are kept of
    each turn.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for record in ledger.records():
        found[record["task_id"]].add(record["outcome"])

    wanted = {
        record["trajectory_id"]
        for record in ledger.records()
        if found[record["task_id"]].issuperset(_DECIDED)
    }
    wanted &= set(ledger.state.current_valid())
    groups: defaultdict[str, list[SeenTrial]] = defaultdict(list)
    came_of: defaultdict[str, set[Outcome]] = defaultdict(set)

    for one in ledger.trajectories(wanted):
        if one.synthesizer not in EVIDENCE and one.outcome.value in _DECIDED:
            came_of[one.task_id].add(one.outcome)
            groups[one.task_id] += [trial_of(one)] if _is_trial(one) else []

    return {
        task: sorted(groups[task], key=lambda trial: trial.identity)
        for task, outcomes in sorted(came_of.items())
        if len(outcomes) == 2
    }


def _is_trial(one: Trajectory) -> bool:
    """An attempt from the beginning, by nobody who was told anything."""
    return not one.gold_informed and one.guidance is None and one.parent_id is None


def trial_of(one: Trajectory) -> SeenTrial:
    """Digests of a trial: thoughts and ids of calls are no part of what a later turn is shown."""
    shown = content_hash([one.tools, one.system_prompt])
    state = content_hash([shown, to_messages(msgspec.structs.replace(one, turns=()))])
    steps = []

    for turn in one.turns:
        messages = [_nameless(message) for message in turn_messages(turn, thoughts=False)]
        # whoever else wrote it, or says nothing, is no act of the policy
        why = mask_reason(turn, turn.index)
        said = content_hash(messages[0])
        steps.append(PartingStep(state, act_digest(turn), said, bool(turn.tool_calls), why))
        state = content_hash([state, messages])

    passed = one.outcome is Outcome.SUCCESS
    return SeenTrial(one.trajectory_id, one.model or one.policy, passed, shown, tuple(steps))


def _nameless(message: dict[str, object]) -> dict[str, object]:
    calls = message.get("tool_calls")
    plain = {key: value for key, value in message.items() if key not in _IDS}
    if not isinstance(calls, list):
        return plain
    return {**plain, "tool_calls": [call["function"] for call in calls]}


def states(trials: Sequence[SeenTrial], depth: int) -> Iterator[list[SeenTrial]]:
    """Those that are shown the same before turn `depth`, together."""
    found: defaultdict[str, list[SeenTrial]] = defaultdict(list)
    for trial in trials:
        if depth < len(trial.steps):
            found[trial.steps[depth].before].append(trial)
    yield from found.values()
