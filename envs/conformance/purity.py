"""Episodes know nothing of each other, and asking an environment how things stand changes nothing:
it can be asked, and be closed, at any time.
"""

from synth.envs.conformance.finding import ConformanceRig, FailedError, part
from synth.envs.transcript import Transcript, perform
from synth.schemas import Env, Task


@part()
async def check_has_no_side_effects(bench: ConformanceRig) -> str:
    """An episode with every question asked twice before every turn goes like the one without."""

    async def asked(task: Task, known: Transcript) -> Transcript:
        env = bench.open()

        async def ask(turn: int) -> None:
            where = f"task {task.task_id}: check before turn {turn}"
            bench.note(f"check before turn {turn} of {next(iter(bench.players))}")
            what = await _changed_by_asking(bench, env)
            if what is not None:
                raise FailedError(f"{where}{what}")

        found = await perform(env, task, known.actions, before=ask)
        await env.close()

        return found

    await bench.alike(", with questions asked before every turn", asked)

    return ""


async def _changed_by_asking(bench: ConformanceRig, env: Env) -> str | None:
    """Asks everything twice; in what the second answer is another one."""

    facts = dict(await env.facts()) if bench.claims("facts") else {}
    if await env.check() != await env.check():
        return " says another thing the second time"
    if bench.claims("facts") and dict(await env.facts()) != facts:
        return " changes the facts"
    offers = [list(await env.affordances()) for _ in "12" if bench.claims("affordances")]
    if offers and offers[0] != offers[1]:
        return ": other affordances the second time"
    if bench.claims("snapshot"):
        await env.snapshot()

    return None


@part()
async def check_at_any_time(bench: ConformanceRig) -> str:
    """Right after a reset, after the end, after further turns, and without a task."""

    env = bench.open()
    bench.note("check right after reset")
    await env.reset(bench.tasks[0])
    await env.check()

    ended = await bench.played(bench.tasks[0], env=env)
    bench.note("a turn after the end, then check")
    if ended.actions:
        await env.step(ended.actions[-1])
    if ended.responses and ended.responses[-1].done and await env.check() != ended.verdict:
        raise FailedError("a turn after the end changes the verdict")

    bench.note("reset without a task, then check")
    await env.reset(None)
    if (await env.check()).passed:
        raise FailedError("without a task the check passes")
    await env.close()

    return ""


@part()
async def reset_starts_anew(bench: ConformanceRig) -> str:
    """An instance that has played another task is, once reset, like a fresh one."""

    used = bench.open()

    async def reset(task: Task, known: Transcript) -> Transcript:
        await bench.played(bench.tasks[-1], env=used, max_turns=3)
        return await perform(used, task, known.actions)

    await bench.alike(", after another in the same instance", reset)
    await used.close()

    return ""


@part()
async def close_is_idempotent(bench: ConformanceRig) -> str:
    """Closed before a reset, after one, and each time twice."""

    for when in ("before any reset", "after a reset"):
        env = bench.open()
        if when == "after a reset":
            await env.reset(bench.tasks[0])
        for time in ("close", "close a second time"):
            bench.note(f"{time} {when}")
            await env.close()

    return ""


@part("deterministic")
async def instances_are_apart(bench: ConformanceRig) -> str:
    """An episode beside which another one is played, turn by turn in alternation, answers as it
    does alone.
    """

    tasks = bench.tasks

    async def beside(task: Task, known: Transcript) -> Transcript:
        other = tasks[(tasks.index(task) + 1) % len(tasks)]
        waiting = list((await bench.played(other)).actions)
        env, beside = bench.open(), bench.open()
        await beside.reset(other)

        async def take_turns(turn: int) -> None:
            if waiting:
                await beside.step(waiting.pop(0))

        found = await perform(env, task, known.actions, before=take_turns)
        await beside.close()
        await env.close()

        return found

    await bench.alike(", with another episode live", beside)

    return f"{len(bench.tasks)} pairs of episodes in alternation"
