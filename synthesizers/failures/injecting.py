"""One injection: a mistake is put before a turn of a clean trajectory, run, and tested; what it
came to is written down.
"""

from random import Random

import msgspec
from msgspec.structs import replace

from synth.engine.study.player import DecisionState, on_policy_for
from synth.ledger.ledger import Score
from synth.rollout.start import PREFIX_MASK, ForcedAct, recorded_act
from synth.schemas.labels import UNSET, AttributionLabel, Changed
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.synthesizers.failures.bench import CONTROL_DRAWS, InjectionContext
from synth.synthesizers.failures.observation_faults import reaction
from synth.synthesizers.failures.planning import InjectionPlan
from synth.synthesizers.failures.preparing import PreparedInjection, prepared
from synth.synthesizers.failures.records import (
    ACCEPTED,
    CONTROL,
    INJECTION,
    OBSERVATION_FAULT,
    RECOVERY,
    TEST,
    UNTESTED,
    Note,
    executed,
)
from synth.text.failure_modes import LEGEND_VERSION


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
    state, rest = DecisionState(twin, task, planned.turn), twin.turns[planned.turn + 1 :]
    replaying = bench.settings.evidence == "replay"
    after = [ForcedAct(act=recorded_act(turn), mask=PREFIX_MASK) for turn in rest]
    came = await bench.played(state, (ready.put, *(after if replaying else ())))
    run = came.trajectory
    if run is None:
        bench.made.apart += came.attempts
        _close(bench, planned, twin.trajectory_id, came.reason, again=came.open)
        return
    changed = executed(twin.turns[planned.turn], run.turns[planned.turn])
    reason = _without_label(run, planned.turn, has_effect=changed.any)
    if replaying:
        reason = {"": "replay_flip", "recovered": "harmless"}.get(reason, reason)
    for attempt in came.attempts:
        shown = reason in ("", *UNTESTED) and attempt.trajectory_id == run.trajectory_id
        (bench.made.seen if shown else bench.made.apart).append(attempt)
    label = _label(bench, planned, state, ready, run, changed)
    if not reason:
        await _tested(bench, planned, state, ready.put, run, label)
        return
    if reason in UNTESTED:
        recovered = reason == "recovered"
        bench.made.scores.append(
            Score(
                run.trajectory_id,
                RECOVERY if recovered else str(label.label),
                1.0 if recovered else None,
                planned.turn,
                replace(label, status=UNTESTED[reason], recovered=recovered, label=UNSET),
            )
        )
    _close(bench, planned, run.trajectory_id, reason)


async def _tested(
    bench: InjectionContext,
    planned: InjectionPlan,
    state: DecisionState,
    bad: ForcedAct,
    run: Trajectory,
    label: AttributionLabel,
) -> None:
    """The test that a label stands on: the recorded turn against what was put there, live on both
    sides; now and then the A/A control.
    """
    twin = state.parent
    good = ForcedAct(act=recorded_act(twin.turns[planned.turn]), mask=PREFIX_MASK)
    found = await bench.tested(state, good, bad)
    if found.accepted is None:
        _close(bench, planned, run.trajectory_id, f"undefined:{found.reason}", again=found.open)
        return
    label = replace(label, recovered=False, **found.evidence())
    bench.made.scores.append(
        Score(run.trajectory_id, TEST, float(found.accepted), planned.turn, label)
    )
    _close(bench, planned, run.trajectory_id, ACCEPTED if found.accepted else "weak")
    drawn = Random(f"control {planned.seed}").random() < bench.settings.controls
    if found.method == "sequential" and drawn:
        same = await bench.tested(state, good, good, draws_from=CONTROL_DRAWS)
        if same.accepted is not None:
            about = AttributionLabel(**same.evidence(), control_of=run.trajectory_id)
            bench.made.scores.append(
                Score(twin.trajectory_id, CONTROL, float(same.accepted), planned.turn, about)
            )


def _label(
    bench: InjectionContext,
    planned: InjectionPlan,
    state: DecisionState,
    ready: PreparedInjection,
    run: Trajectory,
    changed: Changed,
) -> AttributionLabel:
    """What was done to which run; it can be given to no dataset of preferences: no likelihood was
    measured (rigor.md, 5).
    """
    agent = planned.strategy != "environment"
    seen = UNSET if agent else reaction(run, planned.turn, ready.answered, ready.wrong)
    return AttributionLabel(
        label=INJECTION if agent else OBSERVATION_FAULT,
        side="agent" if agent else "environment",
        strategy=planned.strategy,
        mode=planned.mode,
        legend_version=LEGEND_VERSION,
        preferred=planned.strategy == "natural",
        clean_twin_id=state.parent.trajectory_id,
        original=state.own,
        injected=ready.put.act.turn if agent and ready.put is not None else None,
        description=ready.what,
        mistake_agent=(state.parent.turns[planned.turn].agent or "agent") if agent else None,
        mistake_step=str(planned.turn) if agent else None,
        effect=changed,
        earliest_tested=False,
        on_policy_for=on_policy_for(bench.player.role.policy),
        likelihood="not measured",
        dpo=False,
        reaction=seen if seen is UNSET else msgspec.to_builtins(seen),
        instruction=UNSET if ready.instruction is None else ready.instruction,
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
        bench.made.left.add(planned.seed)
