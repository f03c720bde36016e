"""Whatever a model writes, the environment answers with something that the model can read, and the
episode goes on.
"""

import re
import time

from synth.envs.conformance.finding import (
    SHOWN,
    ConformanceRig,
    FailedError,
    NotTriedError,
    part,
    passes,
)
from synth.envs.conformance.guard import answered
from synth.envs.conformance.hostile_turns import Hostile, hostile_turns
from synth.envs.transcript import MAX_TURNS
from synth.schemas import AgentTurn, Env, Observation, Response

LONGEST_OBSERVATION = 200_000
"""Characters; more than that fills a context window with one answer."""
LONGEST_ERROR = 2000
PROBLEMS_SHOWN = 8
_INTERNALS = re.compile(
    r"Traceback \(most recent|File \"[^\"]+\", line \d+|\bobject at "
    r"0x[0-9a-f]+|^\s*\w*(?:Error|Exception)\("
)


@part()
async def hostile_input(bench: ConformanceRig) -> str:
    """Each hostile turn on its own: an answer in time, errors marked as errors, and a valid step
    that works right after.
    """

    env, task = bench.open(), bench.tasks[0]
    first = (await bench.played(task, env=env, max_turns=1)).actions
    cases = hostile_turns((await env.reset(task)).tools)
    problems = []
    for case in cases:
        bench.note(case.name)
        try:
            await _one(env, bench, case, first)
        except FailedError as problem:
            problems.append(f"{case.name}: {problem}")
            env = bench.open()  # the old one may be broken by now

    shown = f"{len(problems)} of {len(cases)} turns: {' | '.join(problems[:PROBLEMS_SHOWN])}"

    return passes(not problems, shown if problems else f"{len(cases)} turns")


async def _one(
    env: Env,
    bench: ConformanceRig,
    case: Hostile,
    first: tuple[AgentTurn, ...],
) -> None:
    """One hostile turn at the start of an episode, and the valid turn after it. Raises
    `FailedError` for what is wrong with the answers.
    """

    task, limit_s, then = bench.tasks[0], bench.limits.input_s, "the valid turn after it "
    await answered(env.reset(task), limit_s, "reset ")
    began = time.monotonic()
    response = await answered(env.step(case.turn), limit_s)
    took = time.monotonic() - began
    problem = unreadable(case, response)
    if took > limit_s:
        problem = f"answered only after {took:.1f} s"
    if problem is not None:
        raise FailedError(problem)
    if not first or response.done:
        return

    after = await answered(env.step(first[0]), limit_s, then)
    if not after.observations:
        raise FailedError(f"{then}is not answered")
    if case.is_error and any(_errors(after)):
        anyway = await bench.performed(task, first[:1])
        if not any(_errors(anyway.responses[0])):
            raise FailedError(f"{then}is an error: {after.observations[0].content[:200]}")


@part()
async def steps_after_the_end(bench: ConformanceRig) -> str:
    """After the end every turn is answered by an error, and the episode stays ended."""

    env = bench.open()
    ended = await bench.played(bench.tasks[0], env=env, max_turns=MAX_TURNS)
    if not ended.responses or not ended.responses[-1].done:
        raise NotTriedError("no policy at hand reaches an end")

    for case, turn in {
        "the first turn again": ended.actions[0],
        "the last turn again": ended.actions[-1],
        "an empty turn": AgentTurn(),
    }.items():
        bench.note(f"{case}, after the end")
        response = await answered(env.step(turn), bench.limits.input_s, f"{case}: ")
        problem = unreadable(Hostile(case, turn, is_error=False), response)
        if not response.done:
            problem = "the episode is open again"
        elif problem is None and not (response.observations and all(_errors(response))):
            problem = "answered without an error"

        if problem is not None:
            raise FailedError(f"{case}: {problem}")

    await env.close()

    return ""


@part()
async def errors_say_why(bench: ConformanceRig) -> str:
    """The answer to every turn that can only be an error is a few words for the model: no
    traceback, not longer than 2,000 characters.
    """

    env, task = bench.open(), bench.tasks[0]
    turns = hostile_turns((await env.reset(task)).tools)
    cases = [case for case in turns if case.is_error and len(case.turn.tool_calls) < 2]
    texts: dict[str, str] = {}
    problems = []
    for case in cases:
        bench.note(case.name)
        await env.reset(task)
        for seen in (await env.step(case.turn)).observations:
            if seen.error:
                texts.setdefault(seen.content, case.name)
                problem = _unhelpful(seen.content)
                problems += [f"{case.name}: {problem}"] if problem else []

    await env.close()

    every = [(case, text if len(text) < 300 else f"{text[:300]} …") for text, case in texts.items()]
    shown = every[:: max(1, len(every) // SHOWN)][:SHOWN]
    title = f"Errors as the model reads them ({len(shown)} of {len(texts)} different ones)"
    bench.table(title, ("mistake", "answer"), shown)
    amiss = f"{len(problems)} of {len(cases)} mistakes: {' | '.join(problems[:4])}"

    return passes(not problems, amiss if problems else f"{len(texts)} different error texts")


def _unhelpful(text: str) -> str | None:
    """What is wrong with an error; of a traceback its telling line."""

    if _INTERNALS.search(text):
        return f"shows the program's inside: {text.strip().splitlines()[-1][:160]}"
    if len(text) > LONGEST_ERROR:
        return f"{len(text)} characters"

    return None if len(text.split()) > 1 else f"says only {text!r}"


def unreadable(case: Hostile, response: Response) -> str | None:
    """Why a model cannot go on from this answer, or None."""

    calls = len(case.turn.tool_calls)
    ids = [seen.call_id for seen in response.observations if seen.call_id is not None]
    if not response.observations and not response.done:
        return "no observation"
    if len(ids) < calls:
        return f"{calls} calls, {len(ids)} answers with a call id"

    for seen in response.observations:
        try:
            f"{seen.content}{seen.name}".encode()
        except UnicodeEncodeError as error:
            return f"an observation that is no UTF-8: {error}"

        problem = _no_error_to_read(seen) if case.is_error else None
        if problem is not None:
            return problem

    if case.is_error and response.done:
        return "it ends the episode"
    if case.is_error and not any(_errors(response)):
        return f"no error: {response.observations[0].content[:200]}"

    return None


def _errors(response: Response) -> list[bool]:
    return [seen.error for seen in response.observations]


def _no_error_to_read(seen: Observation) -> str | None:
    if not seen.content.strip():
        return "an error without text"
    if len(seen.content) > LONGEST_OBSERVATION:
        return f"an error of {len(seen.content)} characters"

    return "an error with NUL in it" if "\x00" in seen.content else None
