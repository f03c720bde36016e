"""Facts are scalars under paths that the spec announces."""

from synth.envs.conformance.experts import players
from synth.envs.conformance.finding import ConformanceRig, Finding, part
from synth.envs.fact_pattern import matches
from synth.envs.transcript import play

KINDS = frozenset({"required", "free", "protected", "generated"})


@part("facts")
async def facts_match_patterns(bench: ConformanceRig) -> Finding:
    """Every path at the start and at the end fits a pattern of `spec.facts`; every kind is one of
    the four.
    """
    patterns = bench.world.spec.facts
    odd_kinds = set(patterns.values()) - KINDS
    if odd_kinds:
        return Finding(False, f"spec.facts has kinds {sorted(odd_kinds)}; allowed: {sorted(KINDS)}")
    seen = 0
    for task in bench.tasks:
        env = bench.open()
        bench.note(f"facts of task {task.task_id}")
        await env.reset(task)
        facts = dict(await env.facts())
        for _, choose in players(bench.world.spec).items():
            transcript = await play(env, task, choose, seed=bench.seed, max_turns=60)
            final = dict(await env.facts())
            ghosts = [
                path
                for path, value in transcript.verdict.facts.items()
                if value is not None and final.get(path) != value
            ]
            if ghosts:
                return Finding(
                    False,
                    f"task {task.task_id}: the verdict's facts are not the final ones: "
                    f"{ghosts[:3]}",
                )
            facts.update(final)
        await env.close()
        strays = sorted(
            path for path in facts if not any(matches(pattern, path) for pattern in patterns)
        )
        if strays:
            return Finding(
                False,
                f"task {task.task_id}: no pattern of spec.facts covers {', '.join(strays[:5])}",
            )
        odd = sorted(
            path
            for path, value in facts.items()
            if not isinstance(value, str | int | float | bool | None)
        )
        if odd:
            return Finding(False, f"task {task.task_id}: no scalars at {', '.join(odd[:5])}")
        seen += len(facts)
    return Finding(True, f"{seen} facts")
