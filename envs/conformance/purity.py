"""Episodes know nothing of each other, and asking a world how things stand changes nothing: it can
be done, and the world be closed, at any time.
"""

from collections.abc import Sequence

from synth.envs.conformance.finding import ConformanceRig, FailedError, part
from synth.envs.transcript import Transcript, perform, rest_difference
from synth.schemas.environment import Env, Response


async def _ended_alike(
    where: str, env: Env, expected: Transcript, found: Sequence[Response]
) -> None:
    """Raises `FailedError` where an episode went on, or ended, otherwise."""
    what = rest_difference(expected.responses, found)
    if what is None and await env.check() != expected.verdict:
        what = "the verdict is another"
    if what is not None:
        raise FailedError(f"{where}: {what}"[:400])


@part()
async def check_has_no_side_effects(bench: ConformanceRig) -> str:
    """An episode with every question asked twice before every turn goes like the one without."""
    for task in bench.tasks:
        transcript = await bench.played(task)
        env = bench.open()
        await env.reset(task)
        responses: list[Response] = []
        for turn, action in enumerate(transcript.actions):
            where = f"task {task.task_id}: check before turn {turn}"
            bench.note(f"check before turn {turn} of {next(iter(bench.players))}")
            facts = dict(await env.facts()) if bench.claims("facts") else {}
            if await env.check() != await env.check():
                raise FailedError(f"{where} says another thing the second time")
            if bench.claims("facts") and dict(await env.facts()) != facts:
                raise FailedError(f"{where} changes the facts")
            offers = [list(await env.affordances()) for _ in "12" if bench.claims("affordances")]
            if offers and offers[0] != offers[1]:
                raise FailedError(f"{where}: other affordances the second time")
            if bench.claims("snapshot"):
                await env.snapshot()
            responses.append(await env.step(action))
        asked = f"task {task.task_id}, with questions asked before every turn"
        await _ended_alike(asked, env, transcript, responses)
        await env.close()
    return ""


@part()
async def check_at_any_time(bench: ConformanceRig) -> str:
    """Right after a reset, after the end, after further turns, and without a task."""
    env = bench.open()
    bench.note("check right after reset")
    await env.reset(bench.tasks[0])
    await env.check()
    ended = await bench.play(env, bench.tasks[0])
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
    for task in bench.tasks:
        bench.note(f"reset to task {task.task_id} after another")
        transcript = await bench.played(task)
        await bench.play(used, bench.tasks[-1], most=3)
        again = await perform(used, task, transcript.actions)
        where = f"task {task.task_id}, after another in the same instance"
        await _ended_alike(where, used, transcript, again.responses)
    await used.close()
    return ""


@part()
async def close_is_idempotent(bench: ConformanceRig) -> str:
    """Closed before a reset, after one, and each time twice."""
    for when in ("before any reset", "after a reset"):
        env = bench.open()
        if when == "after a reset":
            await env.reset(bench.tasks[0])
        bench.note(f"close {when}")
        await env.close()
        bench.note(f"close a second time {when}")
        await env.close()
    return ""


@part("deterministic")
async def instances_are_apart(bench: ConformanceRig) -> str:
    """Two instances played turn by turn in alternation answer as each does alone."""
    pairs = list(zip(bench.tasks, (*bench.tasks[1:], bench.tasks[0]), strict=True))
    for pair in pairs:
        bench.note(f"tasks {pair[0].task_id} and {pair[1].task_id} in alternation")
        alone = [await bench.played(task) for task in pair]
        envs = [bench.open(), bench.open()]
        for env, task in zip(envs, pair, strict=True):
            await env.reset(task)
        responses: list[list[Response]] = [[], []]
        for turn in range(max(len(transcript.actions) for transcript in alone)):
            for side, transcript in enumerate(alone):
                if turn < len(transcript.actions):
                    responses[side].append(await envs[side].step(transcript.actions[turn]))
        for side, transcript in enumerate(alone):
            by = f"task {pair[side].task_id} by {next(iter(bench.players))}"
            where = f"{by}, with another episode live"
            await _ended_alike(where, envs[side], transcript, responses[side])
            await envs[side].close()
    return f"{len(pairs)} pairs of episodes in alternation"
