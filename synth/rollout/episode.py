"""One attempt: a policy acts in a world until the world or the agent ends it, a limit is reached,
or the machinery breaks.
"""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import msgspec

from synth.boundary import FaultError, guard_async, waits
from synth.branching import DriftError, branch
from synth.loop_lag import lagged_s
from synth.models.reply_health import CUT_OFF, mask_of
from synth.rollout.answers import checked, decided, stepped
from synth.rollout.given import Given
from synth.rollout.limits import Limits, reached
from synth.rollout.recorded_turn import placed_turn, recorded_turn, unwhispered
from synth.rollout.resumption import JournaledModel, Resumption
from synth.rollout.start import BranchPoint
from synth.rollout.user_lines import Spoke, UserSimulator
from synth.schemas.check import CheckResult
from synth.schemas.environment import Env, Opening, Response
from synth.schemas.identity import trajectory_id
from synth.schemas.messages import greeting_turn
from synth.schemas.model import ChatModel
from synth.schemas.outcome import Fault, Termination, settle
from synth.schemas.policy import Act, Episode, Guidance, PolicySpec, View
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory, Turn, Usage
from synth.schemas.user import User

T = TypeVar("T")
Turned = Callable[[Usage | None], None]
"""Told what each turn has used, when the agent has decided it."""


class EpisodeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One slot to fill: a task, a policy, a trial; `first_attempt` counts the tries that the ledger
    already holds.

    With a `start` it continues a recorded trajectory, as the continuation number `draw` of its
    trial; `guidance` is whispered from there
    on. `gold_informed`: whoever made the work looked at gold.
    """

    slot_id: str
    task: Task
    trial: int
    seed: int
    synthesizer: str
    policy: PolicySpec
    limits: Limits
    role: str | None = None
    user: User | None = None
    first_attempt: int = 0
    start: BranchPoint | None = None
    draw: int = 0
    guidance: str | None = None
    gold_informed: bool = False


class _Record:
    """What an attempt has come to so far; it survives the fault that ends it."""

    def __init__(self, task: Task) -> None:
        self.given = Given(task)
        self.opening = Opening(None, (), ())
        self.turns: list[Turn] = []
        self.unanswered: Turn | None = None
        self.waited_s = 0.0
        self.user: UserSimulator | None = None
        self.weights: set[str] = set()
        self.check: CheckResult | None = None
        self.reward: float | None = None
        self.phase = "reset"

    def tokens(self) -> int:
        return sum(turn.usage.completion_tokens for turn in self.turns if turn.usage is not None)


async def run_attempt(
    work: EpisodeSpec,
    attempt: int,
    open_world: Callable[[], Env],
    model: ChatModel | None,
    resumption: Resumption,
    *,
    turned: Turned = lambda usage: None,
    faulted: Callable[[FaultError], None] = lambda error: None,
    spoke: Spoke = lambda usage: None,
) -> Trajectory:
    """Runs one attempt at a slot; a fault becomes an `invalid` trajectory, never an exception.

    Raises `SynthError` for what stops the whole run (a full disk, a setting that cannot work),
    `NotStarted` where it may not begin.
    """
    record = _Record(work.task)
    journaled = JournaledModel(model, resumption) if model is not None else None
    env: Env | None = None
    try:
        env = await guard_async(
            Fault.ENVIRONMENT,
            "opening the world",
            lambda: _ran(open_world),
            work.limits.step_timeout_s,
        )
        termination = await _episode(work, env, journaled, resumption, record, turned, spoke)
    except FaultError as error:
        resumption.faulted(len(record.turns), record.phase, error)
        faulted(error)
        return _trajectory(work, attempt, record, Termination.FAULT, error)
    finally:
        if env is not None:
            await _close(env, work.limits.step_timeout_s)
    return _trajectory(work, attempt, record, termination, None)


async def _episode(
    work: EpisodeSpec,
    env: Env,
    model: ChatModel | None,
    resumption: Resumption,
    record: _Record,
    turned: Turned,
    spoke: Spoke,
) -> Termination:
    limits = work.limits
    resumption.refault(0, "reset")
    if work.start is None:
        opening = await guard_async(
            Fault.ENVIRONMENT, "reset", lambda: record.given.opened(env), limits.step_timeout_s
        )
        record.opening = _without_greeting(opening, record.turns)
    else:
        opening = record.opening = await _branched(work, work.start, env, record.given.task)
        record.turns += work.start.prefix()
    resumption.observed(-1, opening.observations, opening.state_key)
    guidance = None if work.guidance is None else Guidance(work.guidance, len(record.turns))
    put = iter(work.start.put if work.start is not None else ())
    episode = Episode(env, model, work.trial, work.seed, work.draw)
    policy = await guard_async(
        Fault.MODEL,
        "opening the policy",
        lambda: _ran(lambda: work.policy.open(episode)),
        limits.step_timeout_s,
    )
    if work.user is not None:
        record.user = UserSimulator(work.user, episode, work.task, resumption, spoke)
    patience = limits.step_timeout_s if model is None else None
    while True:
        index, record.phase = len(record.turns), "act"
        resumption.refault(index, "act")
        began, lagged = time.monotonic(), lagged_s()
        placed = next(put, None)
        view = View(record.opening, tuple(record.turns), guidance)
        try:
            with waits() as waited_s:
                act = (
                    placed.act
                    if placed is not None
                    else await guard_async(
                        Fault.MODEL, "policy", partial(decided, policy, view), patience
                    )
                )
        except FaultError as error:
            if not error.context_overflow:
                raise
            return await _checked(work, env, resumption, record, Termination.CONTEXT_LIMIT)
        turned(act.usage)
        stood_s = (
            lagged_s() - lagged if env.spec.blocking else 0.0
        )  # any other policy without a model computes on the loop itself
        record.waited_s += (
            time.monotonic() - began - stood_s - waited_s()
            if act.latency_ms is None
            else act.latency_ms / 1000
        )
        if act.weights_id is not None:
            record.weights.add(act.weights_id)
        response = await _stepped(work, env, resumption, record, index, act)
        if record.user is not None and not response.done:
            response = await _worded(record.user, record, index, act, response)
        record.turns.append(
            recorded_turn(index, unwhispered(act, guidance), response)
            if placed is None
            else placed_turn(index, placed, response)
        )
        record.reward = response.reward if response.reward is not None else record.reward
        if response.done:
            return await _checked(work, env, resumption, record, Termination.DONE)
        if not response.observations and not act.turn.tool_calls:
            ended = (
                Termination.TOKEN_LIMIT
                if mask_of(act.finish_reason) == CUT_OFF
                else Termination.AGENT_STOP
            )
            return await _checked(work, env, resumption, record, ended)
        limit = reached(limits, record.turns, record.tokens(), record.waited_s)
        if limit is not None:
            return await _checked(work, env, resumption, record, limit)


async def _stepped(
    work: EpisodeSpec, env: Env, resumption: Resumption, record: _Record, index: int, act: Act
) -> Response:
    """The world's answer to a turn. Where it gives none, the turn is kept: it shows what the world
    broke at, and what it has cost.
    """
    record.phase = "step"
    try:
        resumption.refault(index, "step")
        response = await guard_async(
            Fault.ENVIRONMENT,
            f"step {index}",
            lambda: stepped(env.step(act.turn), index, act.turn.tool_calls),
            work.limits.step_timeout_s,
        )
        resumption.observed(index, response.observations, response.state_key)
    except FaultError:
        record.unanswered = msgspec.structs.replace(
            recorded_turn(index, act, Response(())), mask="fault"
        )
        raise
    return response


async def _worded(
    user: UserSimulator, record: _Record, index: int, act: Act, response: Response
) -> Response:
    """The response in the words of the user's model; not the last one of an episode, which no agent
    reads.
    """
    record.phase = "user"
    turn = recorded_turn(index, act, response)
    try:
        return msgspec.structs.replace(response, observations=await user.worded(record.turns, turn))
    except FaultError:
        record.unanswered = msgspec.structs.replace(turn, mask="fault")
        raise


async def _checked(
    work: EpisodeSpec, env: Env, resumption: Resumption, record: _Record, termination: Termination
) -> Termination:
    """Asks the world's own check, where the task has one."""
    record.phase = "check"
    resumption.refault(len(record.turns), "check")
    if work.task.check is not None:
        record.check = await guard_async(
            Fault.ENVIRONMENT, "check", lambda: checked(env), work.limits.step_timeout_s
        )
        record.reward = record.reward if record.reward is not None else float(record.check.passed)
    record.given.unchanged()
    return termination


async def _ran(function: Callable[[], T]) -> T:
    return function()


async def _close(env: Env, timeout_s: float) -> None:
    """Closes a world; a fault of closing harms nobody any more: the episode is recorded."""
    try:
        await guard_async(Fault.ENVIRONMENT, "close", env.close, timeout_s)
    except FaultError:
        return


async def _branched(work: EpisodeSpec, start: BranchPoint, env: Env, task: Task) -> Opening:
    """The world put before the turn that the work starts at. Raises `FaultError` (drift) where it
    answers otherwise than recorded.
    """

    async def branched() -> Opening | DriftError:
        try:
            return await branch(env, task, start.trajectory, start.turn)
        except DriftError as error:
            return error

    found = await guard_async(
        Fault.ENVIRONMENT, "branch", branched, work.limits.step_timeout_s * (start.turn + 1)
    )
    if isinstance(found, DriftError):
        raise FaultError(Fault.DRIFT, f"branch from {start.trajectory.trajectory_id}: {found}")
    return found


def _without_greeting(opening: Opening, turns: list[Turn]) -> Opening:
    """A canned greeting becomes turn 0, answered by the opening observations; nobody sampled it,
    nothing is trained on it.
    """
    greeting = greeting_turn(opening)
    if greeting is None:
        return opening
    turns.append(greeting)
    return msgspec.structs.replace(opening, greeting=None, observations=())


def _trajectory(
    work: EpisodeSpec,
    attempt: int,
    record: _Record,
    termination: Termination,
    error: FaultError | None,
) -> Trajectory:
    fault = error.fault if error is not None else None
    passed = record.check.passed if record.check is not None else None
    turns = (
        (*record.turns, record.unanswered) if record.unanswered is not None else tuple(record.turns)
    )
    totals = Usage()
    for turn in turns:
        totals = totals + turn.usage if turn.usage is not None else totals
    return Trajectory(
        trajectory_id=trajectory_id(work.slot_id, attempt),
        slot_id=work.slot_id,
        attempt=attempt,
        task_id=work.task.task_id,
        env=work.task.env,
        trial=work.trial,
        synthesizer=work.synthesizer,
        policy=work.policy.name,
        role=work.role,
        outcome=settle(termination, passed, fault),
        termination=termination,
        parent_id=work.start.trajectory.trajectory_id if work.start is not None else None,
        pivot_turn=work.start.turn if work.start is not None else None,
        gold_informed=work.gold_informed,
        guidance=work.guidance,
        model=work.policy.model,
        weights_id=record.weights.pop()
        if len(record.weights) == 1
        else ("mixed" if record.weights else None),
        sampling=work.policy.sampling,
        seed=work.seed,
        system_prompt=record.opening.system_prompt,
        tools=record.opening.tools,
        opening=record.opening.observations,
        opening_state_key=record.opening.state_key,
        turns=turns,
        reward=None if fault is not None else record.reward,
        fault=fault,
        fault_detail=error.detail if error is not None else None,
        check_result=None if fault is not None else record.check,
        authorship=work.policy.authorship,
        totals=totals,
        user_model=work.user.name if work.user is not None else None,
        user_totals=record.user.totals if record.user is not None else Usage(),
        created_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        benchmark=work.task.benchmark,
        split=work.task.split,
    )


def canonical_content(trajectory: Trajectory) -> Mapping[str, Any]:
    """A trajectory without what two equal executions differ in: time stamps and latencies."""
    timeless = msgspec.structs.replace(
        trajectory,
        created_at=None,
        turns=tuple(msgspec.structs.replace(turn, latency_ms=None) for turn in trajectory.turns),
    )
    content: Mapping[str, Any] = msgspec.to_builtins(timeless)
    return content
