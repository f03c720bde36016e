"""The same settings and seed make the same tasks, each with its own id and the settings of its
world.
"""

import msgspec

from synth.envs.conformance.finding import ConformanceRig, FailedError, part
from synth.envs.transcript import difference
from synth.schemas.canonical import canonical_json
from synth.schemas.task import Task


@part("tasks")
async def tasks_by_seed(bench: ConformanceRig) -> str:
    """Made twice they are equal, another seed makes others, ids are unique hashes of the content
    that survive a file.
    """
    if not bench.given:
        _made_again(bench)
    if len({task.task_id for task in bench.tasks}) != len(bench.tasks):
        raise FailedError("two tasks have the same id")
    for task in bench.tasks:
        fields = msgspec.structs.asdict(task)
        identity, of = fields.pop("task_id"), bench.world.spec.name
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
    """Raises `FailedError` for what is amiss when the tasks are made again, by another seed, and
    fewer.
    """
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
    """A task read back from a file, in a world opened from its own `env_config` as rollouts open
    it, goes like the task as made.
    """
    for task in bench.tasks:
        who, config = next(iter(bench.players)), dict(task.env_config)
        bench.note(f"{who} in a world opened from env_config {config}")
        read = _read_back(task)
        by_settings, by_task = bench.open(), bench.world.open(read.env_config)
        made, stored = await bench.play(by_settings, task), await bench.play(by_task, read)
        await by_settings.close()
        await by_task.close()
        same = made.actions == stored.actions
        what = difference(made, stored) or (None if same else "the actions differ")
        if what is not None:
            said = f"task {task.task_id}, read back and opened from its env_config: {what}"
            raise FailedError(said)
    return ""


def _read_back(task: Task) -> Task:
    """The task as a file gives it back."""
    return msgspec.json.decode(canonical_json(task), type=Task)
