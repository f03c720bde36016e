"""Makes one injection: runs a mistake before a turn of a clean trajectory, tests it, and writes the
label.
"""

from random import Random

import msgspec
from msgspec.structs import replace

from synth.engine.study.episodes import Attempts
from synth.engine.study.step_effect import continued
from synth.engine.study.step_tests import SEQUENTIAL
from synth.ledger.ledger import Score
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.rollout.start import PREFIX_MASK, ForcedAct, recorded_act
from synth.schemas.labels import UNSET, AttributionLabel, Changed
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Trajectory, Turn
from synth.synthesizers.failures.context import InjectionContext
from synth.synthesizers.failures.mistakes.observation_faults import scripted_reaction
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
)
from synth.text.failure_modes import LEGEND_VERSION

CONTROL_DRAWS = 101
"""The first draw of an A/A control, which shares no continuation with any other test."""


async def inject(context: InjectionContext, plan: InjectionPlan) -> tuple[str, str]:
    """Makes one attempt; (the trajectory that its note is about, the reason how it ended). A fault
    of the machinery gives a reason and no label.
    """

    twin = context.state.parent
    result = context.result
    ready = await prepared(context, plan)
    if ready.put is None:
        return twin.trajectory_id, ready.what

    attempts = await _run(context, plan, ready.put)
    if attempts is None:
        result.open = True
        return twin.trajectory_id, "not_started"

    run = attempts.made[-1]
    new = [] if attempts.known else attempts.made
    if run.fault is not None:
        result.apart += new
        result.open |= run.fault in RETRIED_BY_A_RERUN
        return twin.trajectory_id, f"fault:{run.fault}"

    changed = executed(twin.turns[plan.turn], run.turns[plan.turn])
    reason = _without_label(run, plan.turn, has_effect=changed.any)
    if context.settings.evidence == "replay":
        reason = {"": "replay_flip", "recovered": "harmless"}.get(reason, reason)

    # the flow shows a labelled run, and no faulty or unlabelled attempt beside it
    for attempt in new:
        shown = reason in ("", *UNTESTED) and attempt is run
        (result.trajectories if shown else result.apart).append(attempt)

    label = _label(context, plan, ready, run, changed)
    if not reason:
        reason = await _tested(context, plan, ready.put, run, label)
    elif reason in UNTESTED:
        result.scores.append(_untested(label, run, plan.turn, reason))

    return run.trajectory_id, reason


async def _run(context: InjectionContext, plan: InjectionPlan, put: ForcedAct) -> Attempts | None:
    """Plays the episode with the mistake in it; None where a ceiling kept it from starting."""
    shard = context.shard
    puts = [put]
    if context.settings.evidence == "replay":
        rest = context.state.parent.turns[plan.turn + 1 :]
        puts += [ForcedAct(act=recorded_act(turn), mask=PREFIX_MASK) for turn in rest]
    spec = continued(shard.run, shard.player, context.state, tuple(puts), 0)
    return (await shard.episodes.attempted([spec], shard.player, shown=False)).get(spec.slot_id)


def _untested(label: AttributionLabel, run: Trajectory, turn: int, reason: str) -> Score:
    """The row of a label that stands on no test."""
    recovered = reason == "recovered"
    metric = RECOVERY if recovered else str(label.label)
    label = replace(label, status=UNTESTED[reason], recovered=recovered, label=UNSET)
    return Score(run.trajectory_id, metric, 1.0 if recovered else None, turn, label)


async def _tested(
    context: InjectionContext,
    plan: InjectionPlan,
    bad: ForcedAct,
    run: Trajectory,
    label: AttributionLabel,
) -> str:
    """Tests the recorded turn against the mistake, live on both sides, now and then with an A/A
    control; the reason how that ended.
    """

    twin = context.state.parent
    scores = context.result.scores
    good = ForcedAct(act=recorded_act(twin.turns[plan.turn]), mask=PREFIX_MASK)
    found = await context.tested(good, bad)
    if found.accepted is None:
        context.result.open |= found.open
        return f"undefined:{found.reason}"

    label = replace(label, recovered=False, **found.evidence())
    scores.append(Score(run.trajectory_id, TEST, float(found.accepted), plan.turn, label))

    drawn = Random(f"control {plan.seed}").random() < context.settings.controls
    if found.method == SEQUENTIAL and drawn:
        same = await context.tested(good, good, draws_from=CONTROL_DRAWS)
        if same.accepted is not None:
            about = AttributionLabel(**same.evidence(), control_of=run.trajectory_id)
            value = float(same.accepted)
            scores.append(Score(twin.trajectory_id, CONTROL, value, plan.turn, about))

    return ACCEPTED if found.accepted else "weak"


def _label(
    context: InjectionContext,
    plan: InjectionPlan,
    ready: PreparedInjection,
    run: Trajectory,
    changed: Changed,
) -> AttributionLabel:
    """Describes the injection. Without a measured likelihood its label goes into no preference
    dataset (rigor.md, 5).
    """

    agent = plan.strategy != "environment"
    twin = context.state.parent
    seen = None if agent else scripted_reaction(run, plan.turn, ready.answered, ready.wrong)

    return AttributionLabel(
        label=INJECTION if agent else OBSERVATION_FAULT,
        side="agent" if agent else "environment",
        strategy=plan.strategy,
        mode=plan.mode,
        legend_version=LEGEND_VERSION,
        preferred=plan.strategy == "natural",
        clean_twin_id=twin.trajectory_id,
        original=context.state.own,
        injected=ready.put.act.turn if agent and ready.put is not None else None,
        description=ready.what,
        mistake_agent=(twin.turns[plan.turn].agent or "agent") if agent else None,
        mistake_step=str(plan.turn) if agent else None,
        effect=changed,
        earliest_tested=False,
        on_policy_for=context.shard.player.on_policy_for,
        likelihood="not measured",
        dpo=False,
        reaction=UNSET if seen is None else msgspec.to_builtins(seen),
        instruction=UNSET if ready.instruction is None else ready.instruction,
    )


def executed(twin: Turn, injected: Turn) -> Changed:
    """Compares a turn with the twin's: did the state key change, and did the agent see something
    else? A user's wording and call ids do not count.
    """

    keys = {twin.state_key, injected.state_key}
    moved = len(keys) == 2 and None not in keys
    return Changed(moved, _shown(twin) != _shown(injected))


def _shown(turn: Turn) -> object:
    """The answers of a turn as the agent saw them; planted ones whole."""
    return [
        (
            o.content if o.planted is not None else o.as_given().content,
            o.source,
            o.error,
        )
        for o in turn.observations
    ]


def _without_label(run: Trajectory, turn: int, *, has_effect: bool) -> str:
    """The reason why a run gives no failure label; empty where it failed and the turn had an
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
