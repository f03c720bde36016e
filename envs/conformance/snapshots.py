"""Going on from a snapshot is the same as going on."""

from synth.envs.conformance.finding import ConformanceRig, Finding, part
from synth.envs.transcript import Transcript, play, rest_difference
from synth.schemas.environment import AgentTurn, Env, Response, Snapshot
from synth.schemas.task import Task

LARGEST_SNAPSHOT_BYTES = 64 * 1024


@part("snapshot")
async def snapshot_equals_replay(bench: ConformanceRig) -> Finding:
    """At the start, after one turn, half way, before the last turn and after it: restored into a
    fresh and into a used instance.
    """
    who, _ = bench.player
    restored = 0
    for task in bench.tasks:
        transcript = await bench.played(task)
        length = len(transcript.actions)
        for turn in sorted({0, 1, length // 2, length - 1, length} & set(range(length + 1))):
            bench.note(f"a snapshot before turn {turn}")
            what = await _difference_from(
                bench, task, transcript, turn, asks_expert=who == "expert" and turn < length
            )
            if what is not None:
                return Finding(False, f"task {task.task_id}, snapshot before turn {turn}: {what}")
            restored += 1
    return Finding(True, f"{restored} snapshots restored into a fresh and a used instance")


@part("snapshot")
async def snapshot_size(bench: ConformanceRig) -> Finding:
    """A snapshot at the end of an episode takes at most 64 KiB: they are kept by the thousand."""
    _, choose = bench.player
    largest = 0
    for task in bench.tasks:
        env = bench.open()
        await play(env, task, choose, seed=bench.seed, max_turns=60)
        largest = max(largest, len((await env.snapshot()).blob))
        await env.close()
    return Finding(
        largest <= LARGEST_SNAPSHOT_BYTES,
        f"{largest} of at most {LARGEST_SNAPSHOT_BYTES} bytes",
    )


async def _difference_from(
    bench: ConformanceRig, task: Task, transcript: Transcript, turn: int, *, asks_expert: bool
) -> str | None:
    """What differs when an episode goes on from a snapshot before `turn`, or from having taken
    one.
    """
    original = bench.open()
    await original.reset(task)
    for action in transcript.actions[:turn]:
        await original.step(action)
    snapshot = await original.snapshot()
    if (snapshot.env, snapshot.version) != (original.spec.name, original.spec.version):
        return (
            f"the snapshot says {snapshot.env} {snapshot.version}, the world is "
            f"{original.spec.name} {original.spec.version}"
        )
    used = bench.open()
    await used.reset(bench.tasks[-1])
    for action in transcript.actions[: turn + 1]:
        await used.step(action)
    rest, expected = transcript.actions[turn:], transcript.responses[turn:]
    facts = None
    for where, env in {
        "the world it was taken of": original,
        "a fresh instance": bench.open(),
        "a used instance": used,
    }.items():
        if env is not original:
            await env.restore(Snapshot(snapshot.env, snapshot.version, bytes(snapshot.blob)))
        if asks_expert and _without_ids(await env.expert(None, bench.seed)) != _without_ids(
            rest[0]
        ):
            return f"in {where} the expert does something else"
        what = rest_difference(expected, await _go_on(env, rest), first=turn)
        if what is not None:
            return f"in {where}, {what}"
        if await env.check() != transcript.verdict:
            return f"in {where} the verdict is another"
        if bench.claims("facts"):
            final = dict(await env.facts())
            if facts is not None and final != facts:
                return f"in {where} the final facts are others"
            facts = final
        await env.close()
    return None


async def _go_on(env: Env, actions: tuple[AgentTurn, ...]) -> tuple[Response, ...]:
    """The responses to the actions that remain."""
    return tuple([await env.step(action) for action in actions])


def _without_ids(turn: AgentTurn) -> tuple[object, ...]:
    """What a turn does, whatever its calls are numbered."""
    return (turn.content, tuple((call.name, call.arguments) for call in turn.tool_calls))
