"""One attempt: a policy acts in a world until the world or the agent ends it, a limit is reached, or the machinery breaks."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from schemas.canonical import valid_text
from schemas.check import CheckResult
from schemas.environment import Env, Opening, Response
from schemas.identity import trajectory_id
from schemas.messages import greeting_turn
from schemas.model import ChatModel, ModelError
from schemas.outcome import Fault, Termination, settle
from schemas.policy import Act, Episode, PolicySpec, View
from schemas.task import Task
from schemas.trajectory import Observation, Trajectory, Turn, Usage
from synth.boundary import FaultError, crossing
from synth.rollout.limits import Limits, reached
from synth.rollout.resumption import JournaledModel, Resumption

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One slot to fill: a task, a policy, a trial; `first_attempt` counts the tries that the ledger already holds."""

    slot_id: str
    task: Task
    trial: int
    seed: int
    synthesizer: str
    policy: PolicySpec
    limits: Limits
    first_attempt: int = 0
    parent_id: str | None = None
    pivot_turn: int | None = None


class _Record:
    """What an attempt has come to so far; it survives the fault that ends it."""

    def __init__(self) -> None:
        self.opening = Opening(None, (), ())
        self.turns: list[Turn] = []
        self.waited_s = 0.0
        self.weights: set[str] = set()
        self.check: CheckResult | None = None
        self.reward: float | None = None
        self.phase = "reset"

    def tokens(self) -> int:
        return sum(turn.usage.completion_tokens for turn in self.turns if turn.usage is not None)


async def run_attempt(
    work: Work, attempt: int, open_world: Callable[[], Env], model: ChatModel | None, resumption: Resumption
) -> Trajectory:
    """Runs one attempt at a slot; a fault becomes an `invalid` trajectory, never an exception.

    Raises `SynthError` for what stops the whole run (a full disk, a setting that cannot work).
    """
    record = _Record()
    journaled = JournaledModel(model, resumption) if model is not None else None
    env: Env | None = None
    try:
        env = await crossing(Fault.ENVIRONMENT, "opening the world", _ran(open_world), work.limits.step_timeout_s)
        termination = await _episode(work, env, journaled, resumption, record)
    except FaultError as error:
        resumption.faulted(len(record.turns), record.phase, error)
        return _trajectory(work, attempt, record, Termination.FAULT, error)
    finally:
        if env is not None:
            await _close(env, work.limits.step_timeout_s)
    return _trajectory(work, attempt, record, termination, None)


async def _episode(work: Work, env: Env, model: ChatModel | None, resumption: Resumption, record: _Record) -> Termination:
    limits = work.limits
    resumption.refault(0, "reset")
    opening = _checked_opening(await crossing(Fault.ENVIRONMENT, "reset", env.reset(work.task), limits.step_timeout_s))
    resumption.observed(-1, opening.observations, opening.state_key)
    record.opening = _without_greeting(opening, record.turns)
    episode = Episode(env, model, work.trial, work.seed)
    policy = await crossing(Fault.MODEL, "opening the policy", _ran(lambda: work.policy.open(episode)), limits.step_timeout_s)
    patience = limits.step_timeout_s if model is None else None
    while True:
        index, record.phase = len(record.turns), "act"
        resumption.refault(index, "act")
        began = time.monotonic()
        try:
            act = await crossing(Fault.MODEL, "policy", policy.act(View(record.opening, tuple(record.turns))), patience)
        except ModelError:  # only context overflow comes through: the agent's own behaviour filled its context
            return await _checked(work, env, resumption, record, Termination.CONTEXT_LIMIT)
        record.waited_s += time.monotonic() - began if act.latency_ms is None else act.latency_ms / 1000
        if act.weights_id is not None:
            record.weights.add(act.weights_id)
        record.phase = "step"
        resumption.refault(index, "step")
        stepped = await crossing(Fault.ENVIRONMENT, f"step {index}", env.step(act.turn), limits.step_timeout_s)
        response = _checked_response(stepped, index)
        resumption.observed(index, response.observations, response.state_key)
        record.turns.append(_turn(index, act, response))
        record.reward = response.reward if response.reward is not None else record.reward
        if response.done:
            return await _checked(work, env, resumption, record, Termination.DONE)
        if not response.observations and not act.turn.tool_calls:
            return await _checked(work, env, resumption, record, Termination.AGENT_STOP)
        limit = reached(limits, record.turns, record.tokens(), record.waited_s)
        if limit is not None:
            return await _checked(work, env, resumption, record, limit)


async def _checked(work: Work, env: Env, resumption: Resumption, record: _Record, termination: Termination) -> Termination:
    """Asks the world's own check, where the task has one."""
    record.phase = "check"
    resumption.refault(len(record.turns), "check")
    if work.task.check is not None:
        result = await crossing(Fault.ENVIRONMENT, "check", env.check(), work.limits.step_timeout_s)
        if not isinstance(result, CheckResult):
            raise FaultError(Fault.ENVIRONMENT, f"check returned {type(result).__name__}, not a CheckResult")
        record.check = result
        record.reward = record.reward if record.reward is not None else float(result.passed)
    return termination


async def _ran(function: Callable[[], T]) -> T:
    return function()


async def _close(env: Env, timeout_s: float) -> None:
    """Closes a world; a fault of closing harms nobody any more: the episode is recorded."""
    try:
        await crossing(Fault.ENVIRONMENT, "close", env.close(), timeout_s)
    except FaultError:
        return


def _without_greeting(opening: Opening, turns: list[Turn]) -> Opening:
    """A canned greeting becomes turn 0, answered by the opening observations; nobody sampled it, nothing is trained on it."""
    greeting = greeting_turn(opening)
    if greeting is None:
        return opening
    turns.append(greeting)
    return msgspec.structs.replace(opening, greeting=None, observations=())


def _turn(index: int, act: Act, response: Response) -> Turn:
    turn = _storable(act.turn, ("content", "thought"))
    calls = tuple(_storable(call, ("call_id", "name", "arguments", "parse_error")) for call in turn.tool_calls)
    mask = None
    if any(call.parse_error is not None for call in turn.tool_calls):
        mask = "parse_error"
    elif act.finish_reason == "length":
        mask = "cut_off"
    return Turn(
        index,
        turn.content,
        calls,
        response.observations,
        turn.thought,
        state_key=response.state_key,
        reward=response.reward,
        sampled_by=act.sampled_by,
        mask=mask,
        usage=act.usage,
        latency_ms=act.latency_ms,
        prompt_token_ids=act.prompt_token_ids,
        completion_token_ids=act.completion_token_ids,
        logprobs=act.logprobs,
        repairs=act.repairs,
        raw=valid_text(act.raw) if act.raw is not None else None,
    )


def _checked_opening(opening: Opening) -> Opening:
    if not isinstance(opening, Opening):
        raise FaultError(Fault.ENVIRONMENT, f"reset returned {type(opening).__name__}, not an Opening")
    return msgspec.structs.replace(opening, observations=_sound(opening.observations, "reset"))


def _checked_response(response: Response, index: int) -> Response:
    if not isinstance(response, Response):
        raise FaultError(Fault.ENVIRONMENT, f"step {index} returned {type(response).__name__}, not a Response")
    if response.reward is not None and not math.isfinite(response.reward):
        raise FaultError(Fault.ENVIRONMENT, f"step {index} gave reward {response.reward}")
    return msgspec.structs.replace(response, observations=_sound(response.observations, f"step {index}"))


def _sound(observations: tuple[Observation, ...], where: str) -> tuple[Observation, ...]:
    """Observations of the right type, their text fit for UTF-8."""
    for observation in observations:
        if not isinstance(observation, Observation) or not isinstance(observation.content, str):
            raise FaultError(Fault.ENVIRONMENT, f"{where}: an observation is no Observation with text: {observation!r}"[:300])
    return tuple(_storable(observation, ("content", "name", "call_id")) for observation in observations)


def _storable(record: S, names: Sequence[str]) -> S:
    """A struct whose texts can be written as UTF-8: lone surrogates, which JSON escapes can smuggle in, are replaced."""
    texts = {name: text for name in names if (text := getattr(record, name)) is not None and not text.isascii()}
    return msgspec.structs.replace(record, **{name: valid_text(text) for name, text in texts.items()}) if texts else record


def _trajectory(work: Work, attempt: int, record: _Record, termination: Termination, error: FaultError | None) -> Trajectory:
    fault = error.fault if error is not None else None
    passed = record.check.passed if record.check is not None else None
    totals = Usage()
    for turn in record.turns:
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
        outcome=settle(termination, passed, fault),
        termination=termination,
        parent_id=work.parent_id,
        pivot_turn=work.pivot_turn,
        model=work.policy.model,
        weights_id=record.weights.pop() if len(record.weights) == 1 else ("mixed" if record.weights else None),
        sampling=work.policy.sampling,
        seed=work.seed,
        system_prompt=record.opening.system_prompt,
        tools=record.opening.tools,
        opening=record.opening.observations,
        opening_state_key=record.opening.state_key,
        turns=tuple(record.turns),
        reward=None if fault is not None else record.reward,
        fault=fault,
        fault_detail=error.detail if error is not None else None,
        check_result=None if fault is not None else record.check,
        authorship=work.policy.authorship,
        totals=totals,
        created_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        benchmark=work.task.benchmark,
    )


def canonical_content(trajectory: Trajectory) -> Mapping[str, Any]:
    """A trajectory without what two equal executions differ in: time stamps and latencies."""
    timeless = msgspec.structs.replace(
        trajectory, created_at=None, turns=tuple(msgspec.structs.replace(turn, latency_ms=None) for turn in trajectory.turns)
    )
    content: Mapping[str, Any] = msgspec.to_builtins(timeless)
    return content
