"""What judging costs beside playing: provenance, the epistemic monitor, and the audit of a world,
in CPU seconds of one process.

Run: `python -m benchmarks.judging_cost`
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from statistics import median
from time import process_time

import msgspec

from benchmarks.figures import Figure, Report, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.planted_episodes import expert, played
from benchmarks.truth.monitor import truth_of
from synth.envs.audit.audit import audit
from synth.envs.audit.questions import QUESTIONS
from synth.envs.audit.report import AuditLimits
from synth.envs.storefront import WORLD
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from synth.schemas.trajectory import Source, Trajectory
from synth.text.provenance import provenance

TASKS = 200
ROUNDS = 5
AUDITED = 20
Pair = tuple[Task, Trajectory]


async def replayed(task: Task, trajectory: Trajectory) -> None:
    """The recorded turns in a fresh world, with the check at the end."""
    env = WORLD.open({})
    await env.reset(task)
    for turn in trajectory.turns:
        await env.step(AgentTurn(turn.content, turn.tool_calls))
    await env.check()
    await env.close()


def decoded(trajectory: Trajectory) -> None:
    """All JSON that tools answered with, decoded: what any judge of a transcript has to do."""
    for turn in trajectory.turns:
        for observation in turn.observations:
            if observation.source is Source.TOOL and observation.content[:1] in ("{", "["):
                msgspec.json.decode(observation.content)


def seconds(pairs: Sequence[Pair], *works: Callable[[Task, Trajectory], object]) -> list[float]:
    """CPU seconds per trajectory of each work: medians of rounds in which all of them take turns,
    after one that is not counted.
    """
    rounds = []
    for _ in range(ROUNDS + 1):
        taken = []
        for work in works:
            started = process_time()
            for task, trajectory in pairs:
                work(task, trajectory)
            taken.append((process_time() - started) / len(pairs))
        rounds.append(taken)
    return [median(column) for column in zip(*rounds[1:], strict=True)]


def measure(count: int = TASKS) -> Report:
    """Episodes of the expert with mixed misconceptions; then an audit of the storefront."""
    tasks = WORLD.make_tasks({}, 29, count)
    pairs = [
        (task, asyncio.run(played(task, expert("mixed", at)))) for at, task in enumerate(tasks)
    ]
    decode, judge, replay, monitor = seconds(
        pairs,
        lambda _, trajectory: decoded(trajectory),
        lambda _, trajectory: provenance(trajectory),
        lambda task, trajectory: asyncio.run(replayed(task, trajectory)),
        lambda task, trajectory: asyncio.run(truth_of(task, trajectory)),
    )
    started = process_time()
    report = asyncio.run(
        audit(WORLD, {}, seed=7, tasks=AUDITED, limits=AuditLimits(), questions=QUESTIONS)
    )
    audited = process_time() - started
    if report.failed:
        raise RuntimeError(report.verdict)
    turns = sum(len(trajectory.turns) for _, trajectory in pairs) / len(pairs)
    return Report(
        "What judging costs",
        (
            Figure("provenance", 1e6 * judge, "us per trajectory"),
            Figure("provenance against decoding its JSON", judge / decode, "x"),
            Figure("provenance against playing it again", judge / replay, "x"),
            Figure("monitor, which plays it again", 1e6 * monitor, "us per trajectory"),
            Figure("monitor against playing it again", monitor / replay, "x"),
            Figure(f"audit of {AUDITED} tasks, twelve questions", audited, "s"),
            Figure("audit against playing its tasks once", audited / (AUDITED * replay), "x"),
        ),
        f"{count} episodes of {turns:.1f} turns, CPU seconds of this process, medians of {ROUNDS} "
        "rounds in turn; the audit once.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
