"""Whatever a model writes, the world answers with something that the model can read, and the
episode goes on.
"""

import time

from synth.envs.conformance.finding import ConformanceRig, Finding, part
from synth.envs.conformance.guard import Broke, answered
from synth.envs.conformance.hostile_turns import Hostile, hostile_turns
from synth.envs.transcript import play
from synth.schemas.environment import AgentTurn, Env, Response

LONGEST_OBSERVATION = 200_000
"""Characters; more than that fills a context window with one answer."""
SHOWN = 8


@part()
async def hostile_input(bench: ConformanceRig) -> Finding:
    """Each hostile turn on its own: an answer in time, errors marked as errors, and a valid step
    that works right after.
    """
    env = bench.open()
    _, choose = bench.player
    first = (await play(env, bench.tasks[0], choose, seed=bench.seed, max_turns=1)).actions
    cases = hostile_turns((await env.reset(bench.tasks[0])).tools)
    problems = []
    for case in cases:
        bench.note(case.name)
        problem = await _problem(env, bench, case, first)
        if problem is not None:
            problems.append(f"{case.name}: {problem}")
            env = bench.open()
    detail = (
        f"{len(problems)} of {len(cases)} turns: {' | '.join(problems[:SHOWN])}"
        if problems
        else f"{len(cases)} turns"
    )
    return Finding(not problems, detail)


@part()
async def steps_after_the_end(bench: ConformanceRig) -> Finding:
    """After the end every turn is answered by an error, and the episode stays ended."""
    _, choose = bench.player
    env = bench.open()
    ended = await play(env, bench.tasks[0], choose, seed=bench.seed)
    if not ended.responses or not ended.responses[-1].done:
        return Finding(None, "no policy at hand reaches an end")
    for case, turn in {
        "the first turn again": ended.actions[0],
        "the last turn again": ended.actions[-1],
        "an empty turn": AgentTurn(),
    }.items():
        bench.note(f"{case}, after the end")
        answer = await answered(env.step(turn), bench.call_limit_s)
        if isinstance(answer, Broke):
            return Finding(False, f"{case}: {answer.reason}")
        if not answer.given.done:
            return Finding(False, f"{case}: the episode is open again")
        problem = unreadable(Hostile(case, turn, is_error=False), answer.given)
        if problem is not None:
            return Finding(False, f"{case}: {problem}")
        if not answer.given.observations or not all(o.error for o in answer.given.observations):
            return Finding(False, f"{case}: answered without an error")
    await env.close()
    return Finding(True)


async def _problem(
    env: Env, bench: ConformanceRig, case: Hostile, first: tuple[AgentTurn, ...]
) -> str | None:
    """What is wrong with the answer to one hostile turn at the start of an episode, or with the
    valid turn after it.
    """
    reset = await answered(env.reset(bench.tasks[0]), bench.call_limit_s)
    if isinstance(reset, Broke):
        return f"reset {reset.reason}"
    began = time.monotonic()
    answer = await answered(env.step(case.turn), bench.call_limit_s)
    if isinstance(answer, Broke):
        return answer.reason
    if time.monotonic() - began > bench.call_limit_s:
        return f"answered only after {time.monotonic() - began:.1f} s"
    problem = unreadable(case, answer.given)
    if problem is not None or not first or answer.given.done:
        return problem
    after = await answered(env.step(first[0]), bench.call_limit_s)
    if isinstance(after, Broke):
        return f"the valid turn after it {after.reason}"
    if not after.given.observations:
        return "the valid turn after it is not answered"
    lost = any(o.error for o in after.given.observations) and not await _errs_anyway(
        bench, first[0]
    )
    return (
        f"the valid turn after it is an error: {after.given.observations[0].content[:200]}"
        if lost and case.is_error
        else None
    )


async def _errs_anyway(bench: ConformanceRig, turn: AgentTurn) -> bool:
    """Whether a turn is answered by an error even with nothing hostile before it."""
    env = bench.open()
    await env.reset(bench.tasks[0])
    response = await env.step(turn)
    await env.close()
    return any(o.error for o in response.observations)


def unreadable(case: Hostile, response: Response) -> str | None:
    """Why a model cannot go on from this answer, or None."""
    if not response.observations and not response.done:
        return "no observation"
    calls = case.turn.tool_calls
    answered_ids = [o.call_id for o in response.observations if o.call_id is not None]
    if calls and len(answered_ids) < len(calls):
        return f"{len(calls)} calls, {len(answered_ids)} answers with a call id"
    for observation in response.observations:
        if not observation.content.strip() and case.is_error:
            return "an error without text"
        if len(observation.content) > LONGEST_OBSERVATION and case.is_error:
            return f"an error of {len(observation.content)} characters"
        try:
            f"{observation.content}{observation.name}".encode()
        except UnicodeEncodeError as error:
            return f"an observation that is no UTF-8: {error}"
        if "\x00" in observation.content and case.is_error:
            return "an error with NUL in it"
    if case.is_error and response.done:
        return "it ends the episode"
    if case.is_error and not any(o.error for o in response.observations):
        return f"no error: {response.observations[0].content[:200]}"
    return None
