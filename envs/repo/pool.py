"""What a pool of tasks holds: pristine trees, and tasks that break them in ways that tests notice.

A pool is a folder: `pool.json`, `bases/<library>/` (pristine trees), `tools/` (what runs the tests,
shown read-only), `tasks/<id>.json`. Only its user says where it lies; a task of a run names what
is in it by id.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from synth.schemas import ConfigError, content_hash

_UNNAMED = ("id", "tier", "about")
Engine = Literal["python", "node"]


class Library(msgspec.Struct, frozen=True, kw_only=True):
    """A repository whose tests pass, twice alike. `tests`: id -> the file that it stands in, of
    those that pass in the pristine tree; `source` are its files of code, `protected` patterns of
    what an agent may not change with effect (tests and configuration). `about` is a line on where
    it comes from: name, version, licence, hash, or the user's folder.
    """

    name: str
    engine: Engine
    digest: str
    tests: Mapping[str, str]
    source: tuple[str, ...]
    protected: tuple[str, ...]
    about: Mapping[str, str] = {}


class RepoTask(msgspec.Struct, frozen=True, kw_only=True):
    """One broken tree. `edits`: path -> its text in the broken tree, None where it is gone there;
    all other files are the base's. `solution`: path -> its text once all is well (a path of
    `edits` that is missing here is the base's file).

    `failing` pass with the solution and not in the broken tree; `test_files` are run by the check,
    in the base's or the solution's text. `hidden`: path -> text of tests that the agent never
    sees, laid over the tree by the check alone. `kind` says how it was broken, `sites` how many
    functions differ between broken and whole tree, `tier` how hard it proved (0: a bot without a
    model repairs it), `steps` are the ids of the tasks that a chain is made of.
    """

    id: str
    library: str
    kind: str
    goal: str
    edits: Mapping[str, str | None]
    solution: Mapping[str, str] = {}
    failing: tuple[str, ...]
    test_files: tuple[str, ...]
    hidden: Mapping[str, str] = {}
    sites: int = 1
    tier: int = 1
    steps: tuple[str, ...] = ()
    about: Mapping[str, str] = {}

    @classmethod
    def identified(cls, **fields: object) -> "RepoTask":
        """A task whose id is the hash of its content, `tier` and `about` apart."""
        nameless = cls(id="", **fields)  # type: ignore[arg-type]
        return msgspec.structs.replace(nameless, id=nameless.named())

    def named(self) -> str:
        """The id that its content gives it."""
        told = {name: getattr(self, name) for name in self.__struct_fields__}
        return content_hash({k: v for k, v in told.items() if k not in _UNNAMED})[:16]


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """What `pool.json` says; `digest` is the hash of all libraries and tasks, `tools` that of what
    runs the tests (empty in older pools).
    """

    version: int
    digest: str
    libraries: tuple[Library, ...]
    tasks: tuple[str, ...]
    tools: str = ""

    def library(self, name: str) -> Library:
        """A library by its name. Raises `ConfigError`."""
        found = next((one for one in self.libraries if one.name == name), None)
        if found is None:
            raise ConfigError(f"the pool has no library {name!r}")
        return found


def read_pool(folder: Path) -> Pool:
    """A pool's table of contents. Raises `ConfigError` where there is none, or a broken one."""
    place = folder / "pool.json"
    try:
        return msgspec.json.decode(place.read_bytes(), type=Pool)
    except FileNotFoundError:
        raise ConfigError(f"{folder}: is no pool of tasks; make one with `synth repo`") from None
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"{place}: cannot be read: {error}") from None


def read_task(folder: Path, task_id: str) -> RepoTask:
    """One task of a pool. Raises `ConfigError`."""
    place = folder / "tasks" / f"{task_id}.json"
    try:
        return msgspec.json.decode(place.read_bytes(), type=RepoTask)
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"{place}: cannot be read: {error}") from None


def read_tasks(folder: Path, pool: Pool) -> Iterator[RepoTask]:
    """All tasks of a pool, in its order."""
    return (read_task(folder, task_id) for task_id in pool.tasks)


def base_of(folder: Path, library: str) -> Path:
    """Where the pristine tree of a library lies."""
    return folder / "bases" / library


def tools_of(folder: Path) -> Path:
    """What runs the tests, shown read-only to every world."""
    return folder / "tools"
