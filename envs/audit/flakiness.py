"""Whether the same episode always gets the same verdict."""

from synth.envs.conformance.experts import players
from synth.envs.conformance.finding import ConformanceRig, Finding, part
from synth.envs.transcript import perform, play

TIMES = 5


@part()
async def check_asked_again(bench: ConformanceRig) -> Finding:
    """At the end of every episode of every policy at hand, the check is asked several times."""
    return await _verdicts(bench, f"asked {TIMES} times of the same state", again=False)


@part()
async def episode_done_again(bench: ConformanceRig) -> Finding:
    """Every episode of every policy at hand is done several times, each in a fresh instance."""
    return await _verdicts(bench, f"of {TIMES} identical episodes", again=True)


async def _verdicts(bench: ConformanceRig, what: str, *, again: bool) -> Finding:
    deadline = bench.deadline()
    episodes = 0
    flaky: list[tuple[str, ...]] = []
    for task in bench.tasks:
        for who, choose in players(bench.world.spec).items():
            if deadline.over:
                break
            env = bench.open()
            transcript = await play(env, task, choose, seed=bench.seed, max_turns=60)
            verdicts = [transcript.verdict]
            for time in range(1, TIMES):
                bench.note(f"the verdict on {who}, task {task.task_id}, time {time + 1}")
                if again:
                    await env.close()
                    env = bench.open()
                    verdicts.append((await perform(env, task, transcript.actions)).verdict)
                else:
                    verdicts.append(await env.check())
            await env.close()
            episodes += 1
            if any(verdict != verdicts[0] for verdict in verdicts):
                passes = sum(verdict.passed for verdict in verdicts)
                flaky.append(
                    (
                        task.task_id[:12],
                        who,
                        f"{passes} of {TIMES} pass"
                        if 0 < passes < TIMES
                        else "the parts or facts differ",
                    )
                )
    bench.table(f"Verdicts that change, {what}", ("task", "policy", "verdicts"), flaky[:12])
    first = f": task {flaky[0][0]} by {flaky[0][1]}, {flaky[0][2]}" if flaky else ""
    return Finding(not flaky, f"{len(flaky)} of {episodes} verdicts change, {what}{first}")
