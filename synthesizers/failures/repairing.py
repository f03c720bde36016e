"""The other flip: a failed trial, a correction at one of its turns, and whether that makes it pass (AgenTracer, arXiv 2509.03312)."""

import msgspec

from schemas.environment import AgentTurn
from schemas.outcome import Fault
from schemas.policy import Act
from schemas.task import Task
from schemas.trajectory import SampledBy, Trajectory
from synth.boundary import FaultError, crossing
from synth.ledger.ledger import Score
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.rollout.start import PREFIX_MASK, Put, recorded_act
from synthesizers.failures.bench import Bench
from synthesizers.failures.labels import REPAIR, builtins
from synthesizers.failures.placing import placed
from synthesizers.failures.site import Site, same_act
from synthesizers.steps.labels import on_policy_for

CORRECTED_MASK = "corrected"


class Correction(msgspec.Struct, frozen=True):
    """What an expert would have done at a turn of a failed trial."""

    turn: int
    act: AgentTurn


async def repair(bench: Bench, trial: Trajectory, task: Task) -> tuple[str, bool]:
    """Tests corrections, at most `repair_rounds`, until one makes the trial pass: what it came to, and whether a rerun may still tell.

    Every test gives a label. Corrections come from the world's expert, which knows what was observed by then; the turns that write or tell
    something come first. `earliest_tested`: every turn before, at which the expert does otherwise, was tested without success.
    """
    try:
        corrections = await _corrections(bench, trial, task)
    except FaultError as error:
        bench.run.faulted(error)
        return f"fault:{error.fault}", error.fault in RETRIED_BY_A_RERUN
    if not corrections:
        return "no_correction", False
    order = sorted(corrections, key=lambda found: (not _says_or_does(trial, found.turn), found.turn))
    failed: set[int] = set()
    for correction in order[: bench.settings.repair_rounds]:
        turn = correction.turn
        good = Put(act=Act(turn=correction.act, sampled_by=SampledBy.INJECTED), mask=CORRECTED_MASK, injected="correction")
        bad = Put(act=recorded_act(trial.turns[turn]), mask=PREFIX_MASK)
        found = await bench.tested(trial, task, turn, good, bad)
        if found.accepted is None:
            return f"undefined:{found.reason}", found.open
        recorded = trial.turns[turn]
        bench.made.scores.append(Score(trial.trajectory_id, REPAIR, float(found.accepted), turn, {
            "status": "confirmed" if found.accepted else "weak",
            "side": "agent",
            "strategy": "expert",
            "original": builtins(AgentTurn(recorded.content, recorded.tool_calls, recorded.thought)),
            "correction": builtins(correction.act),
            "mistake_agent": recorded.agent or "agent",
            "mistake_step": str(turn),
            "earliest_tested": all(other.turn in failed for other in corrections if other.turn < turn),
            "on_policy_for": on_policy_for(bench.role.policy),
            "likelihood": "not measured",
            "dpo": False,
            **found.evidence(),
        }))  # fmt: skip
        if found.accepted:
            return "confirmed", False
        failed.add(turn)
    return "no_repair", False


async def _corrections(bench: Bench, trial: Trajectory, task: Task) -> list[Correction]:
    """Where the expert does otherwise than the trial did. Raises `FaultError`."""
    if "expert" not in bench.run.spec_of(task.env, task.env_config).capabilities:
        return []
    found, patience = [], bench.limits.step_timeout_s
    for turn in trial.turns:
        if turn.sampled_by is SampledBy.CANNED:
            continue
        async with placed(bench.run, task, trial, turn.index, patience) as (env, _):
            act = await crossing(Fault.ENVIRONMENT, "expert", lambda: env.expert("correct", 0), patience)
        if not same_act(act, AgentTurn(turn.content, turn.tool_calls)):
            found.append(Correction(turn.index, msgspec.structs.replace(act, thought=None)))
    return found


def _says_or_does(trial: Trajectory, turn: int) -> bool:
    site = Site(trial, turn)
    return bool(site.writes(site.turn)) or any(site.talks(call) and site.texts(call) for call in site.turn.tool_calls)
