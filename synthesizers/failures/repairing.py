"""Repairs a failed trial: corrects one of its turns and tests whether that makes the trial pass
(AgenTracer, arXiv 2509.03312).
"""

from functools import partial

import msgspec

from synth.boundary import guard_async
from synth.ledger.ledger import Score
from synth.rollout.start import PREFIX_MASK, ForcedAct, recorded_act
from synth.schemas import Act, AttributionLabel, Fault, SampledBy
from synth.synthesizers.failures.context import InjectionContext
from synth.synthesizers.failures.mistakes.point import InjectionPoint, same_act
from synth.synthesizers.failures.mistakes.transcript import InjectionTranscript
from synth.synthesizers.failures.records import ACCEPTED, REPAIR, REPAIR_TEST
from synth.synthesizers.failures.roles import Correction, corrector_question, read_correction
from synth.synthesizers.rejected import RejectedError

CORRECTED_MASK = "corrected"
NO_REPAIR = "no_repair"


async def repair(context: InjectionContext) -> str:
    """Tests corrections until one makes the trial pass; the reason how the repair ended.

    Every test gives a label. The role `corrector` proposes first, where the flow has it, then the
    environment's expert, which knows no more than the agent had observed by then; at most
    `repair_rounds` tests of each. Raises `RejectedError` where the role could not be asked, and
    `FaultError`.
    """

    by_role = await _by_role(context)
    if context.result.open or by_role == ACCEPTED:
        return str(by_role)

    return await _by_expert(context) or by_role or "no_correction"


async def _by_role(context: InjectionContext) -> str | None:
    """Asks for one correction after the other, and tells the role which ones did not help; None
    where it proposed nothing of use.
    """

    trial = context.state.parent
    tried = list[Correction]()
    asked = context.settings.writers["corrector"] is not None

    for number in range(context.settings.repair_rounds if asked else 0):
        question = corrector_question(trial, tried, number)
        read = partial(read_correction, trial=trial, tried=tried)

        try:
            correction = await context.ask("corrector", question, read)
        except RejectedError:
            # an open attempt ends at once: a rerun asks the role again, from the journal
            if context.result.open:
                raise

            break

        ended = await _tested(context, correction, "role", earliest=False)

        if ended is not None:
            return ended

        tried.append(correction)

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

    trial = context.state.parent
    turn = correction.turn
    recorded = recorded_act(trial.turns[turn])
    good = ForcedAct(
        act=Act(turn=correction.act, sampled_by=SampledBy.INJECTED),
        mask=CORRECTED_MASK,
        injected="correction",
    )

    found = await context.tested(turn, good, ForcedAct(act=recorded, mask=PREFIX_MASK))
    if found.accepted is None:
        context.result.open |= found.open
        return f"undefined:{found.reason}"

    label = AttributionLabel(
        label=REPAIR,
        side="agent",
        strategy=strategy,
        original=recorded.turn,
        correction=correction.act,
        mistake_agent=trial.turns[turn].agent or "agent",
        mistake_step=str(turn),
        earliest_tested=earliest,
        on_policy_for=context.shard.player.on_policy_for,
        likelihood="not measured",
        dpo=False,
        **found.evidence(),
    )

    score = Score(trial.trajectory_id, REPAIR_TEST, float(found.accepted), turn, label)
    context.result.scores.append(score)

    return ACCEPTED if found.accepted else None


async def _corrections(context: InjectionContext) -> list[Correction]:
    """The turns at which the expert would act otherwise. Raises `FaultError`."""
    # the agent did not decide a canned turn, so that cannot be corrected
    turns = context.state.parent.turns if context.able("expert") else ()
    found = []

    for turn in (one for one in turns if one.sampled_by is not SampledBy.CANNED):
        async with context.placed(turn.index) as env:
            expert = partial(env.expert, "correct", 0)
            act = await guard_async(Fault.ENVIRONMENT, "expert", expert, context.patience)

        if not same_act(act, turn):
            found.append(Correction(turn.index, msgspec.structs.replace(act, thought=None)))

    return found
