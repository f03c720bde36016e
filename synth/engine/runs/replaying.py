"""Many trajectories executed again, and many verdicts given again from stored facts."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import msgspec

from synth.boundary import FaultError, guard_async
from synth.branching import replay
from synth.engine.progress import Progress
from synth.ledger import Decision, Score, StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.ledger.log.state import IMPORT
from synth.ledger.with_tasks import with_tasks
from synth.schemas import (
    CheckResult,
    ConfigError,
    Env,
    Fault,
    OpenEnv,
    Task,
    Trajectory,
    UnboundError,
    content_hash,
)

T = TypeVar("T")
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


@dataclass(slots=True)
class RecheckTally:
    """Verdicts given again: how many stayed, which changed, how many have no facts to judge by."""

    stayed: int = 0
    changed: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    unbound: str | None = None


async def replay_all(
    ledger: StoredLedger, open_env: OpenEnv, identities: Sequence[str], progress: Progress
) -> ReplayTally:
    """Executes the named trajectories again, or all valid ones of the current flow, each in a fresh
    environment.
    """
    tally = ReplayTally()
    current = set(ledger.state.current_valid())
    named = [ledger.trajectory(identity) for identity in identities]
    progress.start("replay", len(named) or len(current), "trajectories")
    trajectories = named or ledger.trajectories(current)
    again = _in_envs("replay", ledger, trajectories, open_env, replay, progress, tally)

    async for trajectory, replayed in again:
        found = replayed.first_difference
        if found is None:
            tally.same += 1
            continue
        place = "opening" if found.turn is None else f"turn {found.turn}"
        tally.differences.append(
            f"{trajectory.trajectory_id} {place}: {found.what}: recorded {found.expected!r}, now "
            f"{found.found!r}"[:600]
        )

    return tally


async def _in_envs(
    what: str,
    ledger: StoredLedger,
    trajectories: Iterable[Trajectory],
    open_env: OpenEnv,
    call: Callable[[Env, Task, Trajectory], Awaitable[T]],
    progress: Progress,
    tally: ReplayTally | RecheckTally,
) -> AsyncIterator[tuple[Trajectory, T]]:
    """What `call` gives for each trajectory in a fresh environment of its task; those for which it
    gives nothing are counted by reason.
    """
    try:
        for trajectory, task in with_tasks(ledger, trajectories, every=True):
            # environments that never suspend would keep an interrupt waiting
            await asyncio.sleep(0)
            env = _fresh_env(open_env, task, trajectory, tally)
            if env is not None and task is not None:
                again = partial(call, env, task, trajectory)
                try:
                    found = await guard_async(Fault.ENVIRONMENT, what, again, TIMEOUT_S)
                # such as a start folder that is another one now: the others can still be done
                except (FaultError, ConfigError) as error:
                    tally.left_out[str(error)] += 1
                else:
                    yield trajectory, found
                finally:
                    await guard_async(Fault.ENVIRONMENT, "close", env.close, TIMEOUT_S)
            progress.step(1)
    finally:
        progress.stop()


def _fresh_env(
    open_env: OpenEnv,
    task: Task | None,
    trajectory: Trajectory,
    tally: ReplayTally | RecheckTally,
) -> Env | None:
    """An environment of a task; None, and counted, where there is none to be asked, or where it is
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


async def recheck_all(ledger: StoredLedger, open_env: OpenEnv, progress: Progress) -> RecheckTally:
    """New verdicts from stored facts, as decisions and scores beside the old ones, which stay as
    they are.
    """
    tally, decisions, scores = RecheckTally(), list[Decision](), list[Score]()
    wanted = set(ledger.state.current_valid())

    def with_facts() -> Iterator[Trajectory]:
        for trajectory in ledger.trajectories(wanted):
            if trajectory.check_result is not None:
                yield trajectory
            else:
                tally.left_out["no stored facts"] += 1
                progress.step(1)

    progress.start("recheck", len(wanted), "trajectories")
    again = _in_envs("recheck", ledger, with_facts(), open_env, _recheck, progress, tally)

    async for trajectory, result in again:
        identity, before = trajectory.trajectory_id, trajectory.check_result
        assert before is not None
        if result.passed == before.passed:
            tally.stayed += 1
        else:
            tally.changed.append(f"{identity} {_verdict(before)} -> {_verdict(result)}")
        passes = {True: "passes", False: "fails", None: "undefined"}[result.passed]
        decisions.append(Decision(identity, "recheck", result.passed, passes))
        detail = {"parts": msgspec.to_builtins(result.parts)}
        value = None if result.passed is None else float(result.passed)
        scores.append(Score(identity, f"recheck:{result.version}", value, detail=detail))

    if decisions:
        ref = StageRef("recheck", content_hash([scores, decisions]))
        if not any(shard.stage_key == ref.stage_key for shard in ledger.refresh().shards):
            ledger.commit(ref, decisions=decisions, scores=scores)
        ledger.begin_stage(StageLine(ref.stage, ref.stage_key, {}))

    return tally


async def _recheck(env: Env, task: Task, trajectory: Trajectory) -> CheckResult:
    """Raises `ConfigError` where an environment has no check from facts."""
    if "recheck" not in env.spec.capabilities:
        raise ConfigError(f"{env.spec.name} has no check from facts")
    return await env.recheck(task, trajectory)


def _verdict(result: CheckResult) -> str:
    """A verdict and the version of the check that gave it."""
    said = {True: "passed", False: "failed", None: "undefined"}[result.passed]
    return f"{said} ({result.version})"
