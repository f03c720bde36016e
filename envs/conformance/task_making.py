"""The same settings and seed make the same tasks, each with its own id and the settings of its
environment.
"""

import msgspec

from synth.envs.conformance.finding import ConformanceRig, FailedError, part
from synth.envs.transcript import Transcript
from synth.schemas import Task, canonical_json


@part("tasks")
async def tasks_by_seed(bench: ConformanceRig) -> str:
    """Made twice they are equal, another seed makes others, ids are unique hashes of the content
    that survive a file.
    """

    if not bench.given:
        _made_again(bench)
    if len({task.task_id for task in bench.tasks}) != len(bench.tasks):
        raise FailedError("two tasks have the same id")

    of = bench.world.spec.name
    for task in bench.tasks:
        fields = msgspec.structs.asdict(task)
        identity = fields.pop("task_id")
        if identity != Task.identified(**fields).task_id:
            raise FailedError(
                f"the id {identity} is not the hash of its task (use Task.identified)"
            )

        if canonical_json(_read_back(task)) != canonical_json(task):
            raise FailedError(f"task {identity} reads back from a file as another")
        if task.env != of:
            raise FailedError(f"task {identity} is for {task.env}, the world is {of}")

    derived = ", derived: whether a seed makes the same ones was not asked" if bench.given else ""

    return f"{len(bench.tasks)} tasks{derived}"


def _made_again(bench: ConformanceRig) -> None:
    """Makes the tasks again, by another seed, and fewer. Raises `FailedError` for what is wrong."""

    tasks, count = list(bench.tasks), len(bench.tasks)

    def made(seed: int, many: int) -> list[Task]:
        return list(bench.world.make_tasks(bench.config, seed, many))

    if made(bench.seed, count) != tasks:
        raise FailedError("the same seed makes other tasks the second time")
    if made(bench.seed + 1, count) == tasks:
        raise FailedError("another seed makes the same tasks")
    if made(bench.seed, 1) != tasks[:1]:
        raise FailedError("the first task depends on how many are made")


@part()
async def tasks_open_their_world(bench: ConformanceRig) -> str:
    """A task read back from a file, in an environment opened from its own `env_config` as rollouts
    open it, goes like the task as made.
    """

    async def stored(task: Task, known: Transcript) -> Transcript:
        read = _read_back(task)
        bench.note(f"a world opened from env_config {dict(task.env_config)}")
        env = bench.world.open(read.env_config)
        found = await bench.played(read, env=env)
        await env.close()

        return found

    where = ", read back and opened from its env_config"
    await bench.alike(where, stored, bench.most_telling)

    return ""


def _read_back(task: Task) -> Task:
    """The task as a file gives it back."""
    return msgspec.json.decode(canonical_json(task), type=Task)
