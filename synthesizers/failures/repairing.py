"""The other flip: a failed trial, a correction at one of its turns, and whether that makes it pass
(AgenTracer, arXiv 2509.03312).
"""

import msgspec

from synth.boundary import FaultError, guard_async
from synth.engine.study.placing import placed
from synth.engine.study.player import DecisionState, on_policy_for
from synth.ledger.ledger import Score
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.rollout.start import PREFIX_MASK, ForcedAct, recorded_act
from synth.schemas.environment import AgentTurn
from synth.schemas.labels import AttributionLabel
from synth.schemas.outcome import Fault
from synth.schemas.policy import Act
from synth.schemas.task import Task
from synth.schemas.trajectory import SampledBy, Trajectory
from synth.synthesizers.failures.bench import InjectionContext
from synth.synthesizers.failures.preparing import without
from synth.synthesizers.failures.records import ACCEPTED, REPAIR, REPAIR_TEST
from synth.synthesizers.failures.role_corrector import Proposed, asked_for_correction
from synth.synthesizers.failures.site import InjectionPoint, same_act

CORRECTED_MASK = "corrected"


async def repair(bench: InjectionContext, trial: Trajectory, task: Task) -> tuple[str, bool]:
    """Tests corrections until one makes the trial pass: what it came to, and whether a rerun may
    still tell.

    From every test a label follows. The role `corrector` proposes first, where the flow has it,
    then the world's expert, which knows what
    was observed by then; at most `repair_rounds` tests of each.
    """
    try:
        by_role = await _by_role(bench, trial, task)
        if by_role is not None and (by_role[1] or by_role[0] == ACCEPTED):
            return by_role
        by_expert = await _by_expert(bench, trial, task)
    except FaultError as error:
        bench.run.faulted(error)
        return f"fault:{error.fault}", error.fault in RETRIED_BY_A_RERUN
    return by_expert or by_role or ("no_correction", False)


async def _by_role(
    bench: InjectionContext, trial: Trajectory, task: Task
) -> tuple[str, bool] | None:
    """One proposal after the other, each told what did not help; None where the flow has no such
    role, or it proposed nothing of use.
    """
    corrector = bench.asked.get("corrector")
    if corrector is None:
        return None
    tried: list[Proposed] = []
    for number in range(bench.settings.repair_rounds):
        answer = await asked_for_correction(corrector, trial, tried, number)
        bench.made.replies += [(trial.trajectory_id, reply) for reply in answer.replies]
        if answer.value is None and answer.unreadable is None:
            return without(answer), True
        if answer.value is None:
            break
        ended = await _tested(bench, trial, task, answer.value, "role", earliest=False)
        if ended is not None:
            return ended
        tried.append(answer.value)
    return ("no_repair", False) if tried else None


async def _by_expert(
    bench: InjectionContext, trial: Trajectory, task: Task
) -> tuple[str, bool] | None:
    """The turns that write or tell something come first; None where the expert would have done the
    same, or there is none.

    `earliest_tested`: every turn before, at which the expert does otherwise, was tested in vain.
    Raises `FaultError`.
    """
    corrections = await _corrections(bench, trial, task)
    order = sorted(
        corrections, key=lambda found: (not _says_or_does(trial, found.turn), found.turn)
    )
    failed: set[int] = set()
    for correction in order[: bench.settings.repair_rounds]:
        earliest = all(
            other.turn in failed for other in corrections if other.turn < correction.turn
        )
        ended = await _tested(bench, trial, task, correction, "expert", earliest=earliest)
        if ended is not None:
            return ended
        failed.add(correction.turn)
    return ("no_repair", False) if corrections else None


async def _tested(
    bench: InjectionContext,
    trial: Trajectory,
    task: Task,
    correction: Proposed,
    strategy: str,
    *,
    earliest: bool,
) -> tuple[str, bool] | None:
    """Notes the test of a correction; how the repair ended by it, None where others may be
    tried.
    """
    turn = correction.turn
    good = ForcedAct(
        act=Act(turn=correction.act, sampled_by=SampledBy.INJECTED),
        mask=CORRECTED_MASK,
        injected="correction",
    )
    bad = ForcedAct(act=recorded_act(trial.turns[turn]), mask=PREFIX_MASK)
    found = await bench.tested(DecisionState(trial, task, turn), good, bad)
    if found.accepted is None:
        return f"undefined:{found.reason}", found.open
    recorded = trial.turns[turn]
    label = AttributionLabel(
        label=REPAIR,
        side="agent",
        strategy=strategy,
        original=AgentTurn(recorded.content, recorded.tool_calls, recorded.thought),
        correction=correction.act,
        mistake_agent=recorded.agent or "agent",
        mistake_step=str(turn),
        earliest_tested=earliest,
        on_policy_for=on_policy_for(bench.player.role.policy),
        likelihood="not measured",
        dpo=False,
        **found.evidence(),
    )
    bench.made.scores.append(
        Score(trial.trajectory_id, REPAIR_TEST, float(found.accepted), turn, label)
    )
    return (ACCEPTED, False) if found.accepted else None


async def _corrections(bench: InjectionContext, trial: Trajectory, task: Task) -> list[Proposed]:
    """Where the expert does otherwise than the trial did. Raises `FaultError`."""
    if not bench.able(task, "expert"):
        return []
    found, patience = [], bench.patience
    for turn in trial.turns:
        if turn.sampled_by is SampledBy.CANNED:
            continue
        async with placed(bench.run, task, trial, turn.index, patience) as (env, _):
            act = await guard_async(
                Fault.ENVIRONMENT, "expert", lambda: env.expert("correct", 0), patience
            )
        if not same_act(act, AgentTurn(turn.content, turn.tool_calls)):
            found.append(Proposed(turn.index, msgspec.structs.replace(act, thought=None)))
    return found


def _says_or_does(trial: Trajectory, turn: int) -> bool:
    site = InjectionPoint(trial, turn)
    return bool(site.writes(site.turn)) or any(
        site.talks(call) and site.texts(call) for call in site.turn.tool_calls
    )
