"""Going on from a snapshot is the same as going on."""

from synth.envs.conformance.finding import ConformanceRig, FailedError, part, passes
from synth.envs.transcript import Transcript, rest_difference, taken_to
from synth.schemas import AgentTurn, Env, Snapshot, Task

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
        await bench.played(task, env=env)
        largest = max(largest, len((await env.snapshot()).blob))
        await env.close()

    most = LARGEST_SNAPSHOT_BYTES

    return passes(largest <= most, f"{largest} of at most {most} bytes")


async def _difference_from(
    bench: ConformanceRig,
    task: Task,
    transcript: Transcript,
    turn: int,
) -> str | None:
    """In what an episode differs that goes on from a snapshot before `turn`, or after one was
    taken.
    """

    original, used = bench.open(), bench.open()
    await taken_to(original, task, transcript.actions[:turn])
    snapshot, spec = await original.snapshot(), original.spec
    said, known = f"{snapshot.env} {snapshot.version}", f"{spec.name} {spec.version}"
    if said != known:
        return f"the snapshot says {said}, the world is {known}"

    await taken_to(used, bench.tasks[-1], transcript.actions[: turn + 1])
    finals = []
    where = {"the world it was taken of": original, "a fresh instance": bench.open()}
    for name, env in {**where, "a used instance": used}.items():
        if env is not original:
            await env.restore(Snapshot(snapshot.env, snapshot.version, bytes(snapshot.blob)))
        what = await _goes_on(bench, env, transcript, turn)
        if what is not None:
            return f"in {name}{what}"
        finals.append(dict(await env.facts()) if bench.claims("facts") else {})
        if finals[-1] != finals[0]:
            return f"in {name} the final facts are others"
        await env.close()

    return None


async def _goes_on(
    bench: ConformanceRig,
    env: Env,
    transcript: Transcript,
    turn: int,
) -> str | None:
    """In what the rest of an episode differs from the transcript: its plan, answers, verdict."""

    rest = transcript.actions[turn:]
    if rest and "expert" in bench.players:
        planned = await env.expert(None, bench.seed)
        if _without_ids(planned) != _without_ids(rest[0]):
            return " the expert does something else"

    found = [await env.step(action) for action in rest]
    what = rest_difference(transcript.responses[turn:], found, first=turn)
    if what is not None:
        return f", {what}"

    return None if await env.check() == transcript.verdict else " the verdict is another"


def _without_ids(turn: AgentTurn) -> tuple[object, ...]:
    """What a turn does, however its calls are numbered."""
    return (turn.content, tuple((call.name, call.arguments) for call in turn.tool_calls))
