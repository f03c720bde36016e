"""The expert solves the world's tasks, plays every profile the same way twice, and plans from the
state alone.
"""

from synth.envs.conformance.experts import expert
from synth.envs.conformance.finding import ConformanceRig, Finding, part
from synth.envs.transcript import MAX_TURNS, play


@part("expert")
async def expert_solves(bench: ConformanceRig) -> Finding:
    """Every task, by the expert without a misconception."""
    unsolved = []
    for task in bench.tasks:
        bench.note(f"the expert on task {task.task_id}")
        transcript = await bench.played(task, expert("correct"), max_turns=MAX_TURNS)
        if not transcript.verdict.passed:
            failed = [
                f"{part.name} ({'; '.join(part.evidence)})"
                for part in transcript.verdict.parts
                if not part.passed
            ]
            unsolved.append(
                f"{task.task_id}: {', '.join(failed) or 'not passed'} after "
                f"{len(transcript.actions)} turns"
            )
    return Finding(
        not unsolved,
        f"{len(unsolved)} of {len(bench.tasks)} unsolved: {' | '.join(unsolved)}"[:1000]
        if unsolved
        else "",
    )


@part("expert")
async def expert_profiles(bench: ConformanceRig) -> Finding:
    """The profiles `correct`, `mixed` and all that the spec names play, and the same seed plays the
    same.
    """
    profiles = [(profile, bench.seed) for profile in ("correct", *bench.world.spec.profiles)] + [
        ("mixed", seed) for seed in range(4)
    ]
    for profile, seed in profiles:
        bench.note(f"the expert with profile {profile} and seed {seed}")
        env = bench.open()
        first = await play(env, bench.tasks[0], expert(profile), seed=seed)
        again = await play(env, bench.tasks[0], expert(profile), seed=seed)
        await env.close()
        if first.actions != again.actions:
            return Finding(
                False, f"profile {profile} with seed {seed} plays the same task in two ways"
            )
    return Finding(True, f"{len(profiles)} profiles and seeds")


@part("expert")
async def expert_plans_from_state(bench: ConformanceRig) -> Finding:
    """Asked twice it says the same; not asked until turn k, it says at k what it said before."""
    for task in bench.tasks:
        env = bench.open()
        transcript = await play(env, task, expert(), seed=bench.seed)
        for turn in sorted({0, len(transcript.actions) // 2, max(len(transcript.actions) - 1, 0)}):
            await env.reset(task)
            for action in transcript.actions[:turn]:
                await env.step(action)
            bench.note(f"the expert asked at turn {turn}")
            first, second = await env.expert(None, bench.seed), await env.expert(None, bench.seed)
            if first != second or first != transcript.actions[turn]:
                return Finding(
                    False,
                    f"task {task.task_id}, turn {turn}: {transcript.actions[turn]}, {first}, "
                    f"{second}"[:400],
                )
        await env.close()
    return Finding(True)
