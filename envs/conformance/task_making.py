"""The same settings and seed make the same tasks, each with its own id and the settings of its
world.
"""

import msgspec

from synth.envs.conformance.finding import ConformanceRig, Finding, part
from synth.envs.transcript import difference, play
from synth.schemas.canonical import canonical_json
from synth.schemas.task import Task


@part("tasks")
async def tasks_by_seed(bench: ConformanceRig) -> Finding:
    """Made twice they are equal, another seed makes others, ids are unique hashes of the content
    that survive a file.
    """
    if not bench.given and (problem := _made_otherwise(bench)) is not None:
        return Finding(False, problem)
    if len({task.task_id for task in bench.tasks}) != len(bench.tasks):
        return Finding(False, "two tasks have the same id")
    for task in bench.tasks:
        if (
            task.task_id
            != Task.identified(
                **{k: v for k, v in msgspec.structs.asdict(task).items() if k != "task_id"}
            ).task_id
        ):
            return Finding(
                False,
                f"the id {task.task_id} is not the hash of its task (use Task.identified)",
            )
        if canonical_json(_read_back(task)) != canonical_json(task):
            return Finding(False, f"task {task.task_id} reads back from a file as another")
        if task.env != bench.world.spec.name:
            return Finding(
                False,
                f"task {task.task_id} is for {task.env}, the world is {bench.world.spec.name}",
            )
    derived = ", derived: whether a seed makes the same ones was not asked" if bench.given else ""
    return Finding(True, f"{len(bench.tasks)} tasks{derived}")


def _made_otherwise(bench: ConformanceRig) -> str | None:
    """What is amiss when the tasks are made again, by another seed, and fewer."""
    if list(bench.world.make_tasks(bench.config, bench.seed, len(bench.tasks))) != list(
        bench.tasks
    ):
        return "the same seed makes other tasks the second time"
    if list(bench.world.make_tasks(bench.config, bench.seed + 1, len(bench.tasks))) == list(
        bench.tasks
    ):
        return "another seed makes the same tasks"
    if list(bench.world.make_tasks(bench.config, bench.seed, 1)) != list(bench.tasks[:1]):
        return "the first task depends on how many are made"
    return None


@part()
async def tasks_open_their_world(bench: ConformanceRig) -> Finding:
    """A task read back from a file, in a world opened from its own `env_config` as rollouts open
    it, goes like the task as made.
    """
    who, choose = bench.player
    for task in bench.tasks:
        bench.note(f"{who} in a world opened from env_config {dict(task.env_config)}")
        by_settings, by_task = bench.open(), bench.world.open(_read_back(task).env_config)
        made = await play(by_settings, task, choose, seed=bench.seed, max_turns=60)
        stored = await play(by_task, _read_back(task), choose, seed=bench.seed, max_turns=60)
        await by_settings.close()
        await by_task.close()
        what = difference(made, stored) or (
            "the actions differ" if made.actions != stored.actions else None
        )
        if what is not None:
            return Finding(
                False,
                f"task {task.task_id}, read back and opened from its env_config: {what}",
            )
    return Finding(True)


def _read_back(task: Task) -> Task:
    """The task as a file gives it back."""
    return msgspec.json.decode(canonical_json(task), type=Task)
