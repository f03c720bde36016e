"""Whether a pool's tasks are those of public benchmarks: by repository, and by id."""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import msgspec

from synth.envs.repo.pool import Library, RepoTask

_INSTANCE = re.compile(r"\b[a-z][\w.-]*__[a-z][\w.-]*-\d+\b")
"""How SWE-bench and its kin name a task: `owner__repository-number`."""


def public_repositories() -> Mapping[str, str]:
    """Repository -> the set that is made of it."""
    place = Path(__file__).with_suffix(".yaml")
    sets = msgspec.yaml.decode(place.read_bytes(), type=dict[str, list[str]])
    return {name.lower(): where for where, names in sets.items() for name in names}


def found_in(library: Library, ids: Collection[str] = ()) -> str | None:
    """The public set that a library belongs to; of `ids` those are looked at that name it."""
    repository = library.about.get("repository", "").lower()
    known = public_repositories().get(repository)
    if known is not None:
        return known

    start = repository.replace("/", "__")
    return next((one for one in ids if start and one.lower().startswith(start)), None)


def named_in(tasks: Iterable[RepoTask]) -> list[str]:
    """The tasks whose id, goal or notes name a task as such a set does."""
    told = ((task.id, " ".join([task.id, task.goal, *task.about.values()])) for task in tasks)
    return [name for name, text in told if _INSTANCE.search(text)]
