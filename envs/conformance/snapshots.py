"""Going on from a snapshot is the same as going on."""

from synth.envs.conformance.finding import ConformanceRig, FailedError, part, passes
from synth.envs.transcript import Transcript, rest_difference
from synth.schemas.environment import AgentTurn, Snapshot
from synth.schemas.task import Task

LARGEST_SNAPSHOT_BYTES = 64 * 1024


@part("snapshot")
async def snapshot_equals_replay(bench: ConformanceRig) -> str:
    """At the start, after one turn, half way, before the last turn and after it: restored into a
    fresh and into a used instance.
    """
    restored = 0
    for task in bench.tasks:
        transcript = await bench.played(task)
        length = len(transcript.actions)
        for turn in sorted({0, 1, length // 2, length - 1, length} & set(range(length + 1))):
            bench.note(f"a snapshot before turn {turn}")
            what = await _difference_from(bench, task, transcript, turn)
            if what is not None:
                raise FailedError(f"task {task.task_id}, snapshot before turn {turn}: {what}")
            restored += 1
    return f"{restored} snapshots restored into a fresh and a used instance"


@part("snapshot")
async def snapshot_size(bench: ConformanceRig) -> str:
    """A snapshot at the end of an episode takes at most 64 KiB: they are kept by the thousand."""
    largest = 0
    for task in bench.tasks:
        env = bench.open()
        await bench.play(env, task)
        largest = max(largest, len((await env.snapshot()).blob))
        await env.close()
    most = LARGEST_SNAPSHOT_BYTES
    return passes(largest <= most, f"{largest} of at most {most} bytes")


async def _difference_from(
    bench: ConformanceRig, task: Task, transcript: Transcript, turn: int
) -> str | None:
    """What differs when an episode goes on from a snapshot before `turn`, or from having taken
    one.
    """
    original, used = bench.open(), bench.open()
    await original.reset(task)
    for action in transcript.actions[:turn]:
        await original.step(action)
    snapshot, spec = await original.snapshot(), original.spec
    said, known = f"{snapshot.env} {snapshot.version}", f"{spec.name} {spec.version}"
    if said != known:
        return f"the snapshot says {said}, the world is {known}"
    await used.reset(bench.tasks[-1])
    for action in transcript.actions[: turn + 1]:
        await used.step(action)
    rest, facts = transcript.actions[turn:], None
    where = {"the world it was taken of": original, "a fresh instance": bench.open()}
    for name, env in {**where, "a used instance": used}.items():
        if env is not original:
            await env.restore(Snapshot(snapshot.env, snapshot.version, bytes(snapshot.blob)))
        planned = [
            await env.expert(None, bench.seed) for _ in rest[:1] if "expert" in bench.players
        ]
        if planned and _without_ids(planned[0]) != _without_ids(rest[0]):
            return f"in {name} the expert does something else"
        found = [await env.step(action) for action in rest]
        what = rest_difference(transcript.responses[turn:], found, first=turn)
        if what is not None:
            return f"in {name}, {what}"
        if await env.check() != transcript.verdict:
            return f"in {name} the verdict is another"
        if bench.claims("facts"):
            final = dict(await env.facts())
            if facts is not None and final != facts:
                return f"in {name} the final facts are others"
            facts = final
        await env.close()
    return None


def _without_ids(turn: AgentTurn) -> tuple[object, ...]:
    """What a turn does, whatever its calls are numbered."""
    return (turn.content, tuple((call.name, call.arguments) for call in turn.tool_calls))
