"""One attempt: a policy acts in a world until the world or the agent ends it, a limit is reached,
or the machinery breaks.
"""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from synth.boundary import FaultError, guard_async, ran
from synth.branching import branched
from synth.loop_lag import lagged_s
from synth.models.reply_health import CUT_OFF, mask_of
from synth.nobodys_time import waits
from synth.rollout.answers import checked, decided, stepped
from synth.rollout.episode import UNWATCHED, EpisodeSpec, Host
from synth.rollout.given import Given
from synth.rollout.limits import reached
from synth.rollout.open_lines import said_by_somebody
from synth.rollout.record import EpisodeRecord, placed_turn, recorded_turn, unwhispered
from synth.rollout.refusals import declined, refused
from synth.rollout.resumption import JournaledModel, Resumption
from synth.rollout.start import ForcedAct
from synth.rollout.user_lines import UserSimulator, opened_by
from synth.schemas import (
    Act,
    ChatModel,
    Env,
    Episode,
    Fault,
    Guidance,
    Opening,
    Policy,
    Response,
    Termination,
    Trajectory,
    Usage,
    View,
)

T = TypeVar("T")


async def run_attempt(
    work: EpisodeSpec,
    open_world: Callable[[], Env],
    model: ChatModel | None,
    resumption: Resumption,
    host: Host = UNWATCHED,
) -> Trajectory:
    """Runs one attempt at a slot; a fault becomes an `invalid` trajectory, never an exception.

    Raises `SynthError` for what stops the whole run (a full disk, a setting that cannot work),
    `NotStarted` where it may not begin.
    """
    attempt, limit_s = _Attempt(work, model, resumption, host), work.limits.step_timeout_s

    env: Env | None = None
    try:
        env = await guard_async(
            Fault.ENVIRONMENT, "opening the world", lambda: ran(open_world), limit_s
        )
        ended, fault = await attempt.played(env), None
    except FaultError as error:
        resumption.faulted(len(attempt.turns), attempt.phase, error)
        host.faulted(error)
        ended, fault = Termination.FAULT, error
    finally:
        if env is not None:
            await _close(env, limit_s)
    return attempt.record.trajectory(work, resumption.attempt, ended, fault)


async def _close(env: Env, timeout_s: float) -> None:
    """Closes a world; a fault of closing harms nobody any more: the episode is recorded."""
    try:
        await guard_async(Fault.ENVIRONMENT, "close", env.close, timeout_s)
    except FaultError:
        return


class _Attempt:
    """An attempt while it is played; `phase` says where it stands, for a fault that ends it."""

    def __init__(
        self, work: EpisodeSpec, model: ChatModel | None, resumption: Resumption, host: Host
    ) -> None:
        self.record = EpisodeRecord()
        self.turns = self.record.turns
        self.phase = "reset"
        self._work = work
        self._model = JournaledModel(model, resumption) if model is not None else None
        self._resumption = resumption
        self._host = host
        self._given = Given(work.task)
        self._waited_s = 0.0
        self._user: UserSimulator | None = None

    async def played(self, env: Env) -> Termination:
        """Plays to the end, and has the world's own check decide, where the task has one."""
        work = self._work
        policy = await self._begun(env)
        forced = iter(work.start.put if work.start is not None else ())
        guidance = None if work.guidance is None else Guidance(work.guidance, len(self.turns))

        ended = None
        while ended is None:
            ended = await self._turn(env, policy, next(forced, None), guidance)

        self._enter("check")
        if work.task.check is not None:
            self.record.check = await self._of_world("check", lambda: checked(env))
            if self.record.reward is None:
                decided = self.record.check.passed
                self.record.reward = None if decided is None else float(decided)

        self._given.unchanged()
        passed = self.record.check is not None and self.record.check.passed
        if self._model is not None and not passed and declined(self.turns, ended):
            ended = Termination.REFUSED
        if ended is Termination.REFUSED:
            self.record.reward = None
        return ended

    async def _begun(self, env: Env) -> Policy:
        """The world reset, or put before the turn that the work starts at, and the policy opened.

        A canned greeting becomes turn 0, answered by the opening observations; nobody sampled it,
        nothing is trained on it.
        """
        work, start = self._work, self._work.start

        self._enter("reset")
        if start is None:
            seen = self.record.opening = await self._of_world(
                "reset", lambda: self._given.opened(env)
            )
        else:
            seen = self.record.opening = await branched(
                env, self._given.task, start.trajectory, start.turn, work.limits.step_timeout_s
            )
            self.turns += start.prefix()

        self._resumption.observed(-1, seen.observations, seen.state_key)

        episode = Episode(env, self._model, work.trial, work.seed, work.draw, work.luck)

        if work.user is not None:
            self._user = UserSimulator(work.user, episode, work.task, self._resumption, self._spoke)
        if start is None:
            await self._greeted(seen)

        return await guard_async(
            Fault.MODEL,
            "opening the policy",
            lambda: ran(work.policy.open, episode),
            work.limits.step_timeout_s,
        )

    async def _greeted(self, seen: Opening) -> None:
        """Puts a canned greeting first, answered by the opening's observations."""
        self.phase = "user"
        greeting = await opened_by(self._user, seen)
        self.phase = "reset"
        if greeting is not None:
            self.turns.append(greeting)
            self.record.opening = replace(seen, greeting=None, observations=())

    async def _turn(
        self, env: Env, policy: Policy, forced: ForcedAct | None, guidance: Guidance | None
    ) -> Termination | None:
        """Plays one turn, and says how the episode has ended, where it has."""
        index = len(self.turns)
        self._enter("act")

        view = View(self.record.opening, tuple(self.turns), guidance)
        try:
            act = forced.act if forced is not None else await self._decided(env, policy, view)
        except FaultError as error:
            if not error.context_overflow:
                raise
            return Termination.CONTEXT_LIMIT

        self._host.turned(act.usage)
        self._waited_s += (act.latency_ms or 0.0) / 1000
        if act.weights_id is not None:
            self.record.weights.add(act.weights_id)

        response = await self._answered(env, index, act)
        self.turns.append(
            recorded_turn(index, unwhispered(act, guidance), response)
            if forced is None
            else placed_turn(index, forced, response)
        )

        if response.reward is not None:
            self.record.reward = response.reward

        if refused(act):
            return Termination.REFUSED

        if response.done:
            return Termination.DONE

        if not response.observations and not act.turn.tool_calls:
            cut_off = mask_of(act.finish_reason) == CUT_OFF
            return Termination.TOKEN_LIMIT if cut_off else Termination.AGENT_STOP

        tokens = sum(turn.usage.completion_tokens for turn in self.turns if turn.usage is not None)
        return reached(self._work.limits, self.turns, tokens, self._waited_s)

    async def _decided(self, env: Env, policy: Policy, view: View) -> Act:
        """What the policy does. A call to a model is bounded by the model's own timeouts, and has a
        latency of its own; another policy's time is what it took.
        """
        began, lagged = time.monotonic(), lagged_s()
        patience_s = self._work.limits.step_timeout_s if self._model is None else None
        with waits() as waited_s:
            decision = partial(decided, policy, view)
            act = await guard_async(Fault.MODEL, "policy", decision, patience_s)

        if act.latency_ms is None:
            # a policy whose world does not block computes on the loop itself
            stood_s = lagged_s() - lagged if env.spec.blocking else 0.0
            self._waited_s += time.monotonic() - began - stood_s - waited_s()
        return act

    async def _answered(self, env: Env, index: int, act: Act) -> Response:
        """The world's answer to a turn, in the words of the user's model where there is one; not
        the last one of an episode, which no agent reads.

        Where there is none, the turn is kept: it shows what the world or the user broke at, and
        what it has cost.
        """
        response = Response(())
        try:
            self._enter("step")
            answer = await self._of_world(
                f"step {index}", lambda: stepped(env.step(act.turn), index, act.turn.tool_calls)
            )
            self._resumption.observed(index, answer.observations, answer.state_key)

            response = answer
            if self._user is None:
                said_by_somebody(response.observations)
            if self._user is None or response.done:
                return response

            self.phase = "user"
            turn = recorded_turn(index, act, response)
            worded = await self._user.worded(self.turns, turn)
            return replace(response, observations=worded, done=self._user.ended)
        except FaultError:
            self.record.unanswered = replace(recorded_turn(index, act, response), mask="fault")
            raise

    def _spoke(self, usage: Usage) -> None:
        self.record.user_totals += usage
        self._host.spoke(usage)

    def _enter(self, phase: str) -> None:
        """Raises the fault that ended the attempt here, before an interruption."""
        self.phase = phase
        self._resumption.refault(len(self.turns), phase)

    async def _of_world(self, what: str, call: Callable[[], Awaitable[T]]) -> T:
        limit_s = self._work.limits.step_timeout_s
        return await guard_async(Fault.ENVIRONMENT, what, call, limit_s)
