"""Repairs a failed trial: corrects one of its turns and tests whether that makes the trial pass
(AgenTracer, arXiv 2509.03312).
"""

from dataclasses import replace

import msgspec

from synth.boundary import FaultError, guard_async
from synth.ledger.ledger import Score
from synth.rollout.start import PREFIX_MASK, ForcedAct, recorded_act
from synth.schemas.labels import AttributionLabel
from synth.schemas.outcome import Fault
from synth.schemas.policy import Act
from synth.schemas.trajectory import SampledBy
from synth.synthesizers.failures.context import InjectionContext, without
from synth.synthesizers.failures.mistakes.point import InjectionPoint, same_act
from synth.synthesizers.failures.mistakes.transcript import InjectionTranscript
from synth.synthesizers.failures.records import ACCEPTED, REPAIR, REPAIR_TEST
from synth.synthesizers.failures.roles import Correction, corrector_question, read_correction

CORRECTED_MASK = "corrected"
NO_REPAIR = "no_repair"


async def repair(context: InjectionContext) -> str:
    """Tests corrections until one makes the trial pass; the reason how the repair ended.

    Every test gives a label. The role `corrector` proposes first, where the flow has it, then the
    environment's expert, which knows no more than the agent had observed by then; at most
    `repair_rounds` tests of each.
    """

    try:
        corrector = context.settings.writers["corrector"]
        by_role = None if corrector is None else await _by_role(context)
        if context.result.open or by_role == ACCEPTED:
            return str(by_role)
        by_expert = await _by_expert(context)
    except FaultError as error:
        return context.faulted(error)
    return by_expert or by_role or "no_correction"


async def _by_role(context: InjectionContext) -> str | None:
    """Asks for one correction after the other, and tells the role which ones did not help; None
    where it proposed nothing of use.
    """

    trial = context.state.parent
    tried = list[Correction]()
    # an open attempt ends at once: the role is asked again by a rerun, from the journal
    for number in range(context.settings.repair_rounds):
        question = corrector_question(trial, tried, number)
        answer = await context.ask(
            "corrector",
            question,
            lambda reply: read_correction(reply, trial, tried),
        )
        if context.result.open:
            return without(answer)
        if answer.value is None:
            break

        ended = await _tested(context, answer.value, "role", earliest=False)
        if ended is not None:
            return ended

        tried.append(answer.value)

    return NO_REPAIR if tried else None


async def _by_expert(context: InjectionContext) -> str | None:
    """Tests the expert's corrections, those of turns that write or report something first; None
    where there are none.

    `earliest_tested`: every earlier correction was tested in vain. Raises `FaultError`.
    """

    corrections = await _corrections(context)
    transcript = InjectionTranscript(context.state.parent)

    def rank(correction: Correction) -> tuple[bool, int]:
        site = InjectionPoint(transcript, correction.turn)
        tells = any(site.talks(call) and site.texts(call) for call in site.turn.tool_calls)
        return not (site.writes(site.turn) or tells), correction.turn

    failed: set[int] = set()
    for correction in sorted(corrections, key=rank)[: context.settings.repair_rounds]:
        before = {other.turn for other in corrections if other.turn < correction.turn}
        ended = await _tested(context, correction, "expert", earliest=before <= failed)
        if ended is not None:
            return ended
        failed.add(correction.turn)

    return NO_REPAIR if corrections else None


async def _tested(
    context: InjectionContext, correction: Correction, strategy: str, *, earliest: bool
) -> str | None:
    """Tests a correction and writes its label; the reason how the repair ended, None where others
    may be tried.
    """

    state = msgspec.structs.replace(context.state, turn=correction.turn)
    recorded = state.parent.turns[state.turn]
    good = ForcedAct(
        act=Act(turn=correction.act, sampled_by=SampledBy.INJECTED),
        mask=CORRECTED_MASK,
        injected="correction",
    )
    bad = ForcedAct(act=recorded_act(recorded), mask=PREFIX_MASK)
    found = await replace(context, state=state).tested(good, bad)
    if found.accepted is None:
        context.result.open |= found.open
        return f"undefined:{found.reason}"

    label = AttributionLabel(
        label=REPAIR,
        side="agent",
        strategy=strategy,
        original=state.own,
        correction=correction.act,
        mistake_agent=recorded.agent or "agent",
        mistake_step=str(state.turn),
        earliest_tested=earliest,
        on_policy_for=context.shard.player.on_policy_for,
        likelihood="not measured",
        dpo=False,
        **found.evidence(),
    )
    value = float(found.accepted)
    trial = state.parent.trajectory_id
    context.result.scores.append(Score(trial, REPAIR_TEST, value, state.turn, label))

    return ACCEPTED if found.accepted else None


async def _corrections(context: InjectionContext) -> list[Correction]:
    """The turns at which the expert would act otherwise. Raises `FaultError`."""
    if not context.able("expert"):
        return []

    found = []
    transcript = InjectionTranscript(context.state.parent)
    for turn in context.state.parent.turns:
        # the agent did not decide this turn, so it cannot be corrected
        if turn.sampled_by is SampledBy.CANNED:
            continue
        async with context.placed(turn.index) as env:
            act = await guard_async(
                Fault.ENVIRONMENT,
                "expert",
                lambda: env.expert("correct", 0),
                context.patience,
            )

        if not same_act(act, InjectionPoint(transcript, turn.index).own):
            found.append(Correction(turn.index, msgspec.structs.replace(act, thought=None)))

    return found
