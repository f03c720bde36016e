"""The expert solves the environment's tasks, plays every profile the same way twice, and plans from
the state alone.
"""

from synth.envs.bots import expert
from synth.envs.conformance.finding import ConformanceRig, FailedError, part
from synth.envs.transcript import MAX_TURNS, first_error, taken_to, why_failed


@part("expert")
async def expert_solves(bench: ConformanceRig) -> str:
    """The expert without a misconception solves every task."""

    unsolved = []
    for task in bench.tasks:
        bench.note(f"the expert on task {task.task_id}")
        found = await bench.played(task, expert("correct"), max_turns=MAX_TURNS)
        if not found.verdict.passed:
            why, turns = why_failed(found.verdict), len(found.actions)
            refused = first_error(found)
            said = f"; {refused}" if refused else ""
            unsolved.append(f"{task.task_id}: {why} after {turns} turns{said}")

    if unsolved:
        of = f"{len(unsolved)} of {len(bench.tasks)} unsolved"
        raise FailedError(f"{of}: {' | '.join(unsolved)}"[:1000])

    return ""


@part("expert")
async def expert_profiles(bench: ConformanceRig) -> str:
    """The profiles `correct`, `mixed` and all that the spec names play, and the same seed plays the
    same.
    """

    profiles = [(profile, bench.seed) for profile in ("correct", *bench.world.spec.profiles)]
    profiles += [("mixed", seed) for seed in range(4)]
    for profile, seed in profiles:
        who = f"profile {profile} with seed {seed}"
        bench.note(f"the expert with {who}")
        env, task, choose = bench.open(), bench.tasks[0], expert(profile)
        first, again = [
            await bench.played(
                task,
                choose,
                env=env,
                seed=seed,
                max_turns=MAX_TURNS,
            )
            for _ in "12"
        ]
        await env.close()
        if first.actions != again.actions:
            raise FailedError(f"{who} plays the same task in two ways")

    return f"{len(profiles)} profiles and seeds"


@part("expert")
async def expert_plans_from_state(bench: ConformanceRig) -> str:
    """Asked twice it says the same; not asked until turn k, it says at k what it said before."""

    for task in bench.tasks:
        env = bench.open()
        actions = (await bench.played(task, env=env, max_turns=MAX_TURNS)).actions
        for turn in sorted({0, len(actions) // 2, max(len(actions) - 1, 0)}):
            await taken_to(env, task, actions[:turn])
            bench.note(f"the expert asked at turn {turn}")
            first, second = await env.expert(None, bench.seed), await env.expert(None, bench.seed)
            if not first == second == actions[turn]:
                said = f"{actions[turn]}, {first}, {second}"
                raise FailedError(f"task {task.task_id}, turn {turn}: {said[:400]}")

        await env.close()

    return ""
