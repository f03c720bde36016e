"""One injection: a mistake is put before a turn of a clean trajectory, run, and tested; what it
came to is written down.
"""

from random import Random
from typing import Any

import msgspec

from synth.ledger.ledger import Score
from synth.rollout.start import PREFIX_MASK, ForcedAct, recorded_act
from synth.schemas.labels import AttributionLabel
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.synthesizers.failures.bench import CONTROL_DRAWS, InjectionContext
from synth.synthesizers.failures.labels import CONTROL, Injected, executed, test_row, untested_label
from synth.synthesizers.failures.notes import ACCEPTED, Note
from synth.synthesizers.failures.planning import InjectionPlan
from synth.synthesizers.failures.preparing import Prepared, prepared
from synth.synthesizers.failures.reaction import reaction
from synth.synthesizers.steps.labels import on_policy_for


async def inject(
    bench: InjectionContext, planned: InjectionPlan, twin: Trajectory, task: Task
) -> None:
    """Makes one attempt; everything that came of it goes to the bench. A fault of the machinery
    gives a reason and no label.
    """
    ready = await prepared(bench, planned, twin, task)
    if ready.put is None:
        _close(bench, planned, twin.trajectory_id, ready.what, again=ready.open)
        return
    replaying = bench.settings.evidence == "replay"
    rest = (
        [
            ForcedAct(act=recorded_act(turn), mask=PREFIX_MASK)
            for turn in twin.turns[planned.turn + 1 :]
        ]
        if replaying
        else []
    )
    came = await bench.played(twin, task, planned.turn, (ready.put, *rest))
    if came.trajectory is None:
        bench.made.apart += came.attempts
        _close(bench, planned, twin.trajectory_id, came.reason, again=came.open)
        return
    run = came.trajectory
    injected = _described(bench, planned, twin, ready, ready.put, run)
    reason = _without_label(run, planned.turn, has_effect=injected.effect.any)
    if replaying:
        reason = {"": "replay_flip", "recovered": "harmless"}.get(reason, reason)
    for attempt in came.attempts:
        shown = (
            reason in ("", "recovered", "replay_flip")
            and attempt.trajectory_id == run.trajectory_id
        )
        (bench.made.seen if shown else bench.made.apart).append(attempt)
    if not reason:
        await _tested(bench, task, injected, ready.put)
        return
    if reason == "recovered":
        bench.made.scores.append(untested_label(injected, "recovered"))
    elif reason == "replay_flip":
        bench.made.scores.append(untested_label(injected, "replay_flip"))
    _close(bench, planned, run.trajectory_id, reason)


async def _tested(bench: InjectionContext, task: Task, injected: Injected, bad: ForcedAct) -> None:
    """The test that a label stands on: the recorded turn against what was put there, live on both
    sides; now and then the A/A control.
    """
    planned, twin, run = injected.planned, injected.twin, injected.trajectory
    good = ForcedAct(act=recorded_act(twin.turns[planned.turn]), mask=PREFIX_MASK)
    found = await bench.tested(twin, task, planned.turn, good, bad)
    if found.accepted is None:
        _close(bench, planned, run.trajectory_id, f"undefined:{found.reason}", again=found.open)
        return
    bench.made.scores.append(test_row(injected, accepted=found.accepted, evidence=found.evidence()))
    _close(bench, planned, run.trajectory_id, ACCEPTED if found.accepted else "weak")
    if (
        found.method == "sequential"
        and Random(f"control {planned.seed}").random() < bench.settings.controls
    ):
        same = await bench.tested(twin, task, planned.turn, good, good, draws_from=CONTROL_DRAWS)
        if same.accepted is not None:
            label = AttributionLabel(**same.evidence(), control_of=run.trajectory_id)
            bench.made.scores.append(
                Score(twin.trajectory_id, CONTROL, float(same.accepted), planned.turn, label)
            )


def _described(
    bench: InjectionContext,
    planned: InjectionPlan,
    twin: Trajectory,
    ready: Prepared,
    put: ForcedAct,
    run: Trajectory,
) -> Injected:
    extra: dict[str, Any] = {}
    if planned.strategy == "environment":
        found = reaction(run, planned.turn, ready.answered, ready.wrong)
        extra["reaction"] = msgspec.to_builtins(found)
    if ready.instruction is not None:
        extra["instruction"] = ready.instruction
    return Injected(
        planned=planned,
        twin=twin,
        trajectory=run,
        put=put.act.turn,
        what=ready.what,
        effect=executed(twin.turns[planned.turn], run.turns[planned.turn]),
        on_policy_for=on_policy_for(bench.role.policy),
        extra=extra,
    )


def _without_label(run: Trajectory, turn: int, *, has_effect: bool) -> str:
    """Why a run gives no failure label; empty where it may: it failed, and the turn had an
    effect.
    """
    if run.outcome is Outcome.UNKNOWN:
        return "no_verdict"
    if not has_effect:
        return "no_effect"
    if run.outcome is Outcome.TRUNCATED:
        return "truncated"
    if run.outcome is Outcome.SUCCESS:
        return "recovered" if len(run.turns) > turn + 1 else "harmless"
    return ""


def _close(
    bench: InjectionContext,
    planned: InjectionPlan,
    subject: str,
    reason: str,
    *,
    again: bool = False,
) -> None:
    bench.made.scores.append(
        Note.of_attempt(planned, reason, bench.round, again=again).as_score(subject)
    )
    if again:
        bench.made.again = True
        bench.made.left.add(planned.seed)
