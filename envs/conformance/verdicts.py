"""A verdict rests on facts, which are scalars under paths that the spec announces, and is the same
whenever, and over whichever record of the episode, it is given.
"""

from collections.abc import Mapping

from synth.envs.conformance.finding import ConformanceRig, FailedError, part, passes
from synth.envs.fact_pattern import matches_any
from synth.envs.transcript import Transcript, turn_of
from synth.schemas import CheckResult, Facts, Task, Termination, Trajectory, settle

KINDS = frozenset({"required", "free", "protected", "generated"})
TIMES = 5
"""How often a verdict is asked for: a check that draws shows it in a few."""


@part("facts")
async def facts_match_patterns(bench: ConformanceRig) -> str:
    """Every path at the start and at the end fits a pattern of `spec.facts`; every kind is one of
    the four.
    """

    patterns, seen = bench.world.spec.facts, 0
    odd_kinds = set(patterns.values()) - KINDS
    if odd_kinds:
        raise FailedError(f"spec.facts has kinds {sorted(odd_kinds)}; allowed: {sorted(KINDS)}")

    for task in bench.tasks:
        env, where = bench.open(), f"task {task.task_id}"
        bench.note(f"facts of {where}")
        await env.reset(task)
        facts = dict(await env.facts())
        for choose in bench.players.values():
            told = (await bench.played(task, choose, env=env)).verdict.facts
            final = dict(await env.facts())
            ghosts = [at for at in told if told[at] is not None and final.get(at) != told[at]]
            if ghosts:
                raise FailedError(
                    f"{where}: the verdict's facts are not the final ones: {ghosts[:3]}"
                )

            facts.update(final)

        await env.close()

        problem = _unannounced(facts, patterns)
        if problem is not None:
            raise FailedError(f"{where}: {problem}")

        seen += len(facts)

    return f"{seen} facts"


def _unannounced(facts: Facts, patterns: Mapping[str, str]) -> str | None:
    """The facts that no pattern covers, or those that are no scalars."""
    strays = [at for at in facts if not matches_any(patterns, at)]
    odd = [at for at, value in facts.items() if not isinstance(value, str | int | float | None)]
    for what, paths in (("no pattern of spec.facts covers", strays), ("no scalars at", odd)):
        if paths:
            return f"{what} {', '.join(sorted(paths)[:5])}"

    return None


@part("recheck")
async def recheck_repeats_the_verdict(bench: ConformanceRig) -> str:
    """The verdict of `recheck` on each policy's episode is that of `check` at its end."""

    for task in bench.tasks:
        for who, choose in bench.players.items():
            played = await bench.played(task, choose, max_turns=30)
            bench.note(f"recheck of an episode of {who}")
            other = bench.open()
            again = await other.recheck(task, _recorded(task, played))
            await other.close()
            if (again.passed, again.parts) != (played.verdict.passed, played.verdict.parts):
                said = f"task {task.task_id} by {who}: {played.verdict} then {again}"
                raise FailedError(said[:400])

    return ""


def _recorded(task: Task, transcript: Transcript) -> Trajectory:
    """The transcript as a ledger would hold it."""

    opening, verdict = transcript.opening, transcript.verdict
    done = bool(transcript.responses) and transcript.responses[-1].done
    ended = Termination.DONE if done else Termination.TURN_LIMIT
    steps = zip(transcript.actions, transcript.responses, strict=True)

    return Trajectory(
        trajectory_id="bench",
        slot_id="bench",
        attempt=0,
        task_id=task.task_id,
        env=task.env,
        trial=0,
        synthesizer="conformance",
        policy="conformance",
        outcome=settle(ended, verdict.passed, None),
        termination=ended,
        system_prompt=opening.system_prompt,
        tools=opening.tools,
        opening=opening.observations,
        opening_state_key=opening.state_key,
        turns=tuple(turn_of(at, act, seen) for at, (act, seen) in enumerate(steps)),
        check_result=verdict,
    )


@part()
async def check_asked_again(bench: ConformanceRig) -> str:
    """At the end of every episode of every policy at hand, the check is asked several times."""
    return await _verdicts(bench, f"asked {TIMES} times of the same state", again=False)


@part()
async def episode_done_again(bench: ConformanceRig) -> str:
    """Every episode of every policy at hand is done several times, each in a fresh instance."""
    return await _verdicts(bench, f"of {TIMES} identical episodes", again=True)


async def _verdicts(
    bench: ConformanceRig,
    what: str,
    *,
    again: bool,
) -> str:
    """Asks for each verdict several times, of an episode done again or of the same one."""

    episodes, flaky = 0, list[tuple[str, ...]]()
    for task, who in ((task, who) for task in bench.tasks for who in bench.players):
        if bench.late:
            break
        verdicts = await _asked(bench, task, who, again=again)
        episodes += 1
        if any(verdict != verdicts[0] for verdict in verdicts):
            passed = sum(verdict.passed is True for verdict in verdicts)
            differ = 0 < passed < TIMES
            said = f"{passed} of {TIMES} pass" if differ else "the parts or facts differ"
            flaky.append((task.task_id[:12], who, said))

    title, columns = f"Verdicts that change, {what}", ("task", "policy", "verdicts")
    first = bench.examples(title, columns, flaky, ": task {0} by {1}, {2}")

    return passes(not flaky, f"{len(flaky)} of {episodes} verdicts change, {what}{first}")


async def _asked(bench: ConformanceRig, task: Task, who: str, *, again: bool) -> list[CheckResult]:
    """The verdicts on one episode, or on as many that are alike."""

    env = bench.open()
    transcript = await bench.played(task, bench.players[who], env=env)
    verdicts = [transcript.verdict]
    for time in range(1, TIMES):
        bench.note(f"the verdict on {who}, task {task.task_id}, time {time + 1}")
        other = (await bench.performed(task, transcript.actions)).verdict if again else None
        verdicts.append(other or await env.check())

    await env.close()

    return verdicts
