"""Whether the same episode always gets the same verdict."""

from synth.envs.audit.report import Limits, Table
from synth.envs.audit.solutions import Deadline
from synth.envs.conformance.experts import players
from synth.envs.conformance.finding import Bench, Finding
from synth.envs.transcript import perform, play

TIMES = 5


async def check_asked_again(bench: Bench, limits: Limits, tables: list[Table]) -> Finding:
    """At the end of every episode of every policy at hand, the check is asked several times."""
    return await _verdicts(
        bench,
        limits,
        tables,
        "check_asked_again",
        f"asked {TIMES} times of the same state",
        again=False,
    )


async def episode_done_again(bench: Bench, limits: Limits, tables: list[Table]) -> Finding:
    """Every episode of every policy at hand is done several times, each in a fresh instance."""
    return await _verdicts(
        bench, limits, tables, "episode_done_again", f"of {TIMES} identical episodes", again=True
    )


async def _verdicts(
    bench: Bench, limits: Limits, tables: list[Table], name: str, what: str, *, again: bool
) -> Finding:
    deadline = Deadline.within(limits.part_s / 2)
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
    if flaky:
        tables.append(
            Table(
                f"Verdicts that change, {what}", ("task", "policy", "verdicts"), tuple(flaky[:12])
            )
        )
    detail = f"{len(flaky)} of {episodes} verdicts change, {what}"
    return Finding(
        name,
        not flaky,
        detail + (f": task {flaky[0][0]} by {flaky[0][1]}, {flaky[0][2]}" if flaky else ""),
    )
