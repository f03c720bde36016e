"""Episodes that are live at the same time know nothing of each other."""

from synth.envs.audit.report import Limits, Table
from synth.envs.conformance.experts import players
from synth.envs.conformance.finding import Bench, Finding
from synth.envs.transcript import play, rest_difference
from synth.schemas.environment import Response


async def instances_are_apart(bench: Bench, limits: Limits, tables: list[Table]) -> Finding:
    """Two instances played turn by turn in alternation answer as each does alone."""
    name = "instances_are_apart"
    if not bench.world.spec.deterministic:
        return Finding(name, None, "the world does not claim determinism")
    who, choose = next(iter(players(bench.world.spec).items()))
    pairs = list(zip(bench.tasks, (*bench.tasks[1:], bench.tasks[0]), strict=True))
    for pair in pairs:
        bench.note(f"tasks {pair[0].task_id} and {pair[1].task_id} in alternation")
        alone = []
        for task in pair:
            env = bench.open()
            alone.append(await play(env, task, choose, seed=bench.seed, max_turns=60))
            await env.close()
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
                    name,
                    False,
                    f"task {pair[side].task_id} by {who}, with another episode live: {what}"[:400],
                )
        for env in envs:
            await env.close()
    return Finding(name, True, f"{len(pairs)} pairs of episodes in alternation")
