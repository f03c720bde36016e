"""Whether the same episode always gets the same verdict."""

from synth.envs.conformance.finding import ConformanceRig, part, passes

TIMES = 5


@part()
async def check_asked_again(bench: ConformanceRig) -> str:
    """At the end of every episode of every policy at hand, the check is asked several times."""
    return await _verdicts(bench, f"asked {TIMES} times of the same state", again=False)


@part()
async def episode_done_again(bench: ConformanceRig) -> str:
    """Every episode of every policy at hand is done several times, each in a fresh instance."""
    return await _verdicts(bench, f"of {TIMES} identical episodes", again=True)


async def _verdicts(bench: ConformanceRig, what: str, *, again: bool) -> str:
    over, episodes = bench.deadline(), 0
    flaky: list[tuple[str, ...]] = []
    for task, who in ((task, who) for task in bench.tasks for who in bench.players):
        if over():
            break
        env = bench.open()
        transcript = await bench.play(env, task, who)
        verdicts = [transcript.verdict]
        for time in range(1, TIMES):
            bench.note(f"the verdict on {who}, task {task.task_id}, time {time + 1}")
            if again:
                verdicts.append((await bench.performed(task, transcript.actions)).verdict)
            else:
                verdicts.append(await env.check())
        await env.close()
        episodes += 1
        if any(verdict != verdicts[0] for verdict in verdicts):
            passed = sum(verdict.passed for verdict in verdicts)
            said = (
                f"{passed} of {TIMES} pass" if 0 < passed < TIMES else "the parts or facts differ"
            )
            flaky.append((task.task_id[:12], who, said))
    bench.table(f"Verdicts that change, {what}", ("task", "policy", "verdicts"), flaky[:12])
    first = [f": task {task} by {who}, {said}" for task, who, said in flaky[:1]]
    return passes(not flaky, f"{len(flaky)} of {episodes} verdicts change, {what}{''.join(first)}")
