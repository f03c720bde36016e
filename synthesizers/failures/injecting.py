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
from synth.rollout.start import PREFIX_MASK, ForcedAct, recorded_act
from synth.schemas import UNSET, AttributionLabel, Changed, Outcome, Trajectory, Turn
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
from synth.synthesizers.rejected import RejectedError
from synth.text.failure_modes import LEGEND_VERSION

CONTROL_DRAWS = 101
"""The first draw of an A/A control, which shares no continuation with any other test."""


async def inject(context: InjectionContext, plan: InjectionPlan) -> tuple[str, str]:
    """Makes one attempt; (the injected run, the reason how the attempt ended). Raises
    `RejectedError` and `FaultError` where there is no run.
    """

    ready = await prepared(context, plan)
    attempts = await _run(context, plan, ready.put)
    result = context.result
    run = attempts.made[-1]
    new = [] if attempts.known else attempts.made

    if run.fault is not None:
        result.apart += new
        raise RejectedError(context.faulted(run.fault))

    changed = executed(context.state.parent.turns[plan.turn], run.turns[plan.turn])
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
        recovered = reason == "recovered"
        metric = RECOVERY if recovered else str(label.label)
        label = replace(label, status=UNTESTED[reason], recovered=recovered, label=UNSET)
        value = 1.0 if recovered else None
        result.scores.append(Score(run.trajectory_id, metric, value, plan.turn, label))

    return run.trajectory_id, reason


async def _run(context: InjectionContext, plan: InjectionPlan, put: ForcedAct) -> Attempts:
    """Plays the episode with the mistake in it. Raises `RejectedError` where a ceiling kept it from
    starting.
    """

    shard = context.shard
    puts = [put]

    if context.settings.evidence == "replay":
        rest = context.state.parent.turns[plan.turn + 1 :]
        puts += [ForcedAct(act=recorded_act(turn), mask=PREFIX_MASK) for turn in rest]

    spec = continued(shard.run, shard.player, context.state, tuple(puts), 0)
    found = await shard.episodes.attempted([spec], shard.player, shown=False)

    if spec.slot_id not in found:
        context.result.open = True
        raise RejectedError("not_started")

    return found[spec.slot_id]


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
    turn = plan.turn
    scores = context.result.scores
    good = ForcedAct(act=recorded_act(twin.turns[turn]), mask=PREFIX_MASK)
    found = await context.tested(turn, good, bad)

    if found.accepted is None:
        context.result.open |= found.open
        return f"undefined:{found.reason}"

    label = replace(label, recovered=False, **found.evidence())
    scores.append(Score(run.trajectory_id, TEST, float(found.accepted), turn, label))

    drawn = Random(f"control {plan.seed}").random() < context.settings.controls

    if found.method == SEQUENTIAL and drawn:
        same = await context.tested(turn, good, good, draws_from=CONTROL_DRAWS)
        if same.accepted is not None:
            about = AttributionLabel(**same.evidence(), control_of=run.trajectory_id)
            scores.append(Score(twin.trajectory_id, CONTROL, float(same.accepted), turn, about))

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

    twin = context.state.parent
    label = AttributionLabel(
        label=INJECTION,
        side="agent",
        strategy=plan.strategy,
        mode=plan.mode,
        legend_version=LEGEND_VERSION,
        preferred=plan.strategy == "natural",
        clean_twin_id=twin.trajectory_id,
        original=context.state.own,
        injected=ready.put.act.turn,
        description=ready.what,
        mistake_agent=twin.turns[plan.turn].agent or "agent",
        mistake_step=str(plan.turn),
        effect=changed,
        earliest_tested=False,
        on_policy_for=context.shard.player.on_policy_for,
        likelihood="not measured",
        dpo=False,
        instruction=UNSET if ready.instruction is None else ready.instruction,
    )

    return label if plan.strategy != "environment" else _of_environment(label, run, plan, ready)


def _of_environment(
    label: AttributionLabel, run: Trajectory, plan: InjectionPlan, ready: PreparedInjection
) -> AttributionLabel:
    """The label of a fault of the environment. The agent made no mistake: what counts is how it
    took the false answer.
    """

    seen = scripted_reaction(run, plan.turn, ready.answered, ready.wrong)
    return replace(
        label,
        label=OBSERVATION_FAULT,
        side="environment",
        injected=None,
        mistake_agent=None,
        mistake_step=None,
        reaction=msgspec.to_builtins(seen),
    )


def executed(twin: Turn, injected: Turn) -> Changed:
    """Compares a turn with the twin's: did the state key change, and did the agent see something
    else? A user's wording and call ids do not count.
    """

    def shown(turn: Turn) -> object:
        """The answers as the agent saw them; planted ones whole."""
        given = ((o, o if o.planted is not None else o.as_given()) for o in turn.observations)
        return [(as_seen.content, o.source, o.error) for o, as_seen in given]

    keys = {twin.state_key, injected.state_key}
    moved = len(keys) == 2 and None not in keys

    return Changed(moved, shown(twin) != shown(injected))


def _without_label(run: Trajectory, turn: int, *, has_effect: bool) -> str:
    """The reason why a run gives no failure label; empty where it failed and the turn had an
    effect.
    """

    if run.outcome is Outcome.UNKNOWN:
        return "no_verdict"
    if not has_effect:
        return "no_effect"

    if run.outcome is Outcome.SUCCESS:
        return "recovered" if len(run.turns) > turn + 1 else "harmless"

    return "truncated" if run.outcome is Outcome.TRUNCATED else ""
