"""Many trajectories executed again, and many verdicts given again from stored facts."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from synth.boundary import FaultError, guard_async
from synth.branching import replay
from synth.engine.progress import Progress
from synth.ledger.ledger import Decision, Ledger, Score, StageRef
from synth.ledger.manifest import StageLine
from synth.ledger.state import IMPORT
from synth.ledger.with_tasks import with_tasks
from synth.schemas.canonical import content_hash
from synth.schemas.check import CheckResult
from synth.schemas.environment import Env, OpenEnv
from synth.schemas.errors import ConfigError, UnboundError
from synth.schemas.outcome import Fault
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory

TIMEOUT_S = 300.0


@dataclass(slots=True)
class ReplayTally:
    """How many were the same; one line per difference; how many could not be replayed, by reason;
    how to bind what was not bound.
    """

    same: int = 0
    differences: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    unbound: str | None = None


async def replay_all(
    ledger: Ledger, open_env: OpenEnv, identities: Sequence[str], progress: Progress
) -> ReplayTally:
    """Executes the named trajectories again, or all valid ones of the current flow, each in a fresh
    world.
    """
    tally = ReplayTally()
    current = set(ledger.state.current_valid())
    named = [ledger.trajectory(identity) for identity in identities]
    progress.start("replay", len(named) or len(current), "trajectories")
    try:
        for trajectory, task in with_tasks(
            ledger, named or ledger.trajectories(current), every=True
        ):
            await asyncio.sleep(0)  # worlds that never suspend would keep an interrupt waiting
            await _replay_one(trajectory, task, open_env, tally)
            progress.step(1)
    finally:
        progress.stop()
    return tally


async def _replay_one(
    trajectory: Trajectory, task: Task | None, open_env: OpenEnv, tally: ReplayTally
) -> None:
    env = _world(open_env, task, trajectory, tally)
    if env is None or task is None:
        return
    try:
        replayed = await guard_async(
            Fault.ENVIRONMENT, "replay", lambda: replay(env, task, trajectory), TIMEOUT_S
        )
    except FaultError as error:
        tally.left_out[str(error)] += 1
        return
    except (
        ConfigError
    ) as error:  # such as a start folder that is another one now: the others can still be replayed
        tally.left_out[str(error)] += 1
        return
    finally:
        await guard_async(Fault.ENVIRONMENT, "close", env.close, TIMEOUT_S)
    found = replayed.first_difference
    if found is None:
        tally.same += 1
        return
    place = "opening" if found.turn is None else f"turn {found.turn}"
    tally.differences.append(
        f"{trajectory.trajectory_id} {place}: {found.what}: recorded {found.expected!r}, now "
        f"{found.found!r}"[:600]
    )


def _world(
    open_env: OpenEnv,
    task: Task | None,
    trajectory: Trajectory,
    tally: "ReplayTally | RecheckTally",
) -> Env | None:
    """A fresh world of a task; None, and counted, where there is none to be asked, or where it is
    not bound here.
    """
    if task is None or (trajectory.synthesizer == IMPORT and task.check is None):
        tally.left_out["imported, its world is not here"] += 1
        return None
    try:
        return open_env(task.env, task.env_config)
    except UnboundError as error:
        tally.left_out[f"its environment {task.env[:80]!r} is not bound"] += 1
        tally.unbound = tally.unbound or str(error)
    except ConfigError as error:
        tally.left_out[f"its environment was not opened: {error}"[:300]] += 1
    return None


@dataclass(slots=True)
class RecheckTally:
    """Verdicts given again: how many stayed, which changed, how many have no facts to judge by."""

    stayed: int = 0
    changed: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    unbound: str | None = None


async def recheck_all(ledger: Ledger, open_env: OpenEnv, progress: Progress) -> RecheckTally:
    """New verdicts from stored facts, as decisions and scores beside the old ones, which stay as
    they are.
    """
    tally = RecheckTally()
    wanted = set(ledger.state.current_valid())
    decisions: list[Decision] = []
    scores: list[Score] = []
    progress.start("recheck", len(wanted), "trajectories")
    try:
        for trajectory, task in with_tasks(ledger, ledger.trajectories(wanted), every=True):
            await asyncio.sleep(0)
            progress.step(1)
            result = await _recheck_one(trajectory, task, open_env, tally)
            if result is None:
                continue
            identity = trajectory.trajectory_id
            detail = msgspec.to_builtins(result.parts)
            decisions.append(
                Decision(identity, "recheck", result.passed, "passes" if result.passed else "fails")
            )
            scores.append(
                Score(
                    identity,
                    f"recheck:{result.version}",
                    float(result.passed),
                    detail={"parts": detail},
                )
            )
    finally:
        progress.stop()
    if decisions:
        _commit(ledger, decisions, scores)
    return tally


def _commit(ledger: Ledger, decisions: list[Decision], scores: list[Score]) -> None:
    ref = StageRef("recheck", content_hash([scores, decisions]))
    if not any(shard.stage_key == ref.stage_key for shard in ledger.refresh().shards):
        ledger.commit(ref, decisions=decisions, scores=scores)
    ledger.begin_stage(StageLine(ref.stage, ref.stage_key, {}))


async def _recheck_one(
    trajectory: Trajectory, task: Task | None, open_env: OpenEnv, tally: RecheckTally
) -> CheckResult | None:
    stored = trajectory.check_result
    if stored is None:
        tally.left_out["no stored facts"] += 1
        return None
    env = _world(open_env, task, trajectory, tally)
    if env is None or task is None:
        return None
    if "recheck" not in env.spec.capabilities:
        tally.left_out[f"{env.spec.name} has no check from facts"] += 1
        return None
    try:
        result = await guard_async(
            Fault.ENVIRONMENT, "recheck", lambda: env.recheck(task, trajectory), TIMEOUT_S
        )
    except FaultError as error:
        tally.left_out[str(error)] += 1
        return None
    if result.passed == stored.passed:
        tally.stayed += 1
    else:
        tally.changed.append(
            f"{trajectory.trajectory_id} {_word(stored.passed)} ({stored.version}) -> "
            f"{_word(result.passed)} ({result.version})"
        )
    return result


def _word(passed: bool) -> str:
    return "passed" if passed else "failed"
