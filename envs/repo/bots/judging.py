"""What the world's check says of changes, without an episode: for bots and audits."""

from synth.envs.repo.checking import passing, tests_of
from synth.envs.repo.honesty.verdict import honest
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import Changes, TaskTree


async def solves(place: TaskTree, changes: Changes, settings: RepoSettings) -> bool:
    """Whether a tree with these changes passes the check of its task."""
    start = await passing(place, {}, settings)
    passed = await passing(place, changes, settings)
    asked = set(place.task.failing) | (start & set(tests_of(place, start)))

    return asked <= passed and (await honest(place, changes, settings)).passed is True
