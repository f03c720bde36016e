"""Asking a world how things stand changes nothing, and can be done at any time."""

from synth.envs.conformance.experts import players
from synth.envs.conformance.finding import Bench, Finding
from synth.envs.transcript import perform, play, rest_difference
from synth.schemas.environment import Response


async def check_has_no_side_effects(bench: Bench) -> Finding:
    """An episode with every question asked twice before every turn goes like the one without."""
    name = "check_has_no_side_effects"
    who, choose = next(iter(players(bench.world.spec).items()))
    for task in bench.tasks:
        env = bench.open()
        transcript = await play(env, task, choose, seed=bench.seed, max_turns=60)
        await env.reset(task)
        responses: list[Response] = []
        for turn, action in enumerate(transcript.actions):
            bench.note(f"check before turn {turn} of {who}")
            facts = dict(await env.facts()) if bench.claims("facts") else {}
            first = await env.check()
            if await env.check() != first:
                return Finding(
                    name,
                    False,
                    f"task {task.task_id}: check before turn {turn} says another thing the second "
                    "time",
                )
            if bench.claims("facts") and dict(await env.facts()) != facts:
                return Finding(
                    name, False, f"task {task.task_id}: check before turn {turn} changes the facts"
                )
            if bench.claims("affordances") and list(await env.affordances()) != list(
                await env.affordances()
            ):
                return Finding(
                    name,
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
                name, False, f"task {task.task_id}, with questions asked before every turn: {what}"
            )
    return Finding(name, True)


async def check_at_any_time(bench: Bench) -> Finding:
    """Right after a reset, after the end, after further turns, and without a task."""
    name = "check_at_any_time"
    _, choose = next(iter(players(bench.world.spec).items()))
    env = bench.open()
    bench.note("check right after reset")
    await env.reset(bench.tasks[0])
    await env.check()
    ended = await play(env, bench.tasks[0], choose, seed=bench.seed, max_turns=60)
    bench.note("a turn after the end, then check")
    if ended.actions:
        await env.step(ended.actions[-1])
    if ended.responses and ended.responses[-1].done and await env.check() != ended.verdict:
        return Finding(name, False, "a turn after the end changes the verdict")
    bench.note("reset without a task, then check")
    await env.reset(None)
    if (await env.check()).passed:
        return Finding(name, False, "without a task the check passes")
    await env.close()
    return Finding(name, True)


async def reset_starts_anew(bench: Bench) -> Finding:
    """An instance that has played another task is, once reset, like a fresh one."""
    name = "reset_starts_anew"
    _, choose = next(iter(players(bench.world.spec).items()))
    used = bench.open()
    for task in bench.tasks:
        bench.note(f"reset to task {task.task_id} after another")
        fresh = bench.open()
        transcript = await play(fresh, task, choose, seed=bench.seed, max_turns=60)
        await fresh.close()
        await play(used, bench.tasks[-1], choose, seed=bench.seed, max_turns=3)
        again = await perform(used, task, transcript.actions)
        what = rest_difference(transcript.responses, again.responses)
        if what is not None or again.verdict != transcript.verdict:
            return Finding(
                name,
                False,
                f"task {task.task_id}, after another in the same instance: "
                f"{what or 'another verdict'}",
            )
    await used.close()
    return Finding(name, True)
