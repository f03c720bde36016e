"""Episodes know nothing of each other, and asking a world how things stand changes nothing: it can
be done, and the world be closed, at any time.
"""

from synth.envs.conformance.finding import ConformanceRig, Finding, part
from synth.envs.transcript import perform, play, rest_difference
from synth.schemas.environment import Response


@part()
async def check_has_no_side_effects(bench: ConformanceRig) -> Finding:
    """An episode with every question asked twice before every turn goes like the one without."""
    who, _ = bench.player
    for task in bench.tasks:
        transcript = await bench.played(task)
        env = bench.open()
        await env.reset(task)
        responses: list[Response] = []
        for turn, action in enumerate(transcript.actions):
            bench.note(f"check before turn {turn} of {who}")
            facts = dict(await env.facts()) if bench.claims("facts") else {}
            first = await env.check()
            if await env.check() != first:
                return Finding(
                    False,
                    f"task {task.task_id}: check before turn {turn} says another thing the second "
                    "time",
                )
            if bench.claims("facts") and dict(await env.facts()) != facts:
                return Finding(
                    False, f"task {task.task_id}: check before turn {turn} changes the facts"
                )
            if bench.claims("affordances") and list(await env.affordances()) != list(
                await env.affordances()
            ):
                return Finding(
                    False,
                    f"task {task.task_id}: other affordances the second time, before turn {turn}",
                )
            if bench.claims("snapshot"):
                await env.snapshot()
            responses.append(await env.step(action))
        what = rest_difference(transcript.responses, responses)
        if what is None and await env.check() != transcript.verdict:
            what = "the verdict at the end is another"
        await env.close()
        if what is not None:
            return Finding(
                False, f"task {task.task_id}, with questions asked before every turn: {what}"
            )
    return Finding(True)


@part()
async def check_at_any_time(bench: ConformanceRig) -> Finding:
    """Right after a reset, after the end, after further turns, and without a task."""
    _, choose = bench.player
    env = bench.open()
    bench.note("check right after reset")
    await env.reset(bench.tasks[0])
    await env.check()
    ended = await play(env, bench.tasks[0], choose, seed=bench.seed, max_turns=60)
    bench.note("a turn after the end, then check")
    if ended.actions:
        await env.step(ended.actions[-1])
    if ended.responses and ended.responses[-1].done and await env.check() != ended.verdict:
        return Finding(False, "a turn after the end changes the verdict")
    bench.note("reset without a task, then check")
    await env.reset(None)
    if (await env.check()).passed:
        return Finding(False, "without a task the check passes")
    await env.close()
    return Finding(True)


@part()
async def reset_starts_anew(bench: ConformanceRig) -> Finding:
    """An instance that has played another task is, once reset, like a fresh one."""
    _, choose = bench.player
    used = bench.open()
    for task in bench.tasks:
        bench.note(f"reset to task {task.task_id} after another")
        transcript = await bench.played(task)
        await play(used, bench.tasks[-1], choose, seed=bench.seed, max_turns=3)
        again = await perform(used, task, transcript.actions)
        what = rest_difference(transcript.responses, again.responses)
        if what is not None or again.verdict != transcript.verdict:
            return Finding(
                False,
                f"task {task.task_id}, after another in the same instance: "
                f"{what or 'another verdict'}",
            )
    await used.close()
    return Finding(True)


@part()
async def close_is_idempotent(bench: ConformanceRig) -> Finding:
    """Closed before a reset, after one, and each time twice."""
    unused = bench.open()
    bench.note("close before any reset")
    await unused.close()
    bench.note("close a second time")
    await unused.close()
    env = bench.open()
    await env.reset(bench.tasks[0])
    bench.note("close after a reset")
    await env.close()
    bench.note("close a second time after a reset")
    await env.close()
    return Finding(True)


@part("deterministic")
async def instances_are_apart(bench: ConformanceRig) -> Finding:
    """Two instances played turn by turn in alternation answer as each does alone."""
    who, _ = bench.player
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
            what = rest_difference(transcript.responses, responses[side])
            if what is None and await envs[side].check() != transcript.verdict:
                what = "the verdict is another"
            if what is not None:
                return Finding(
                    False,
                    f"task {pair[side].task_id} by {who}, with another episode live: {what}"[:400],
                )
        for env in envs:
            await env.close()
    return Finding(True, f"{len(pairs)} pairs of episodes in alternation")
