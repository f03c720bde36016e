"""A small pool of tasks: a library of ours with three modules, broken in six ways."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.making.libraries import prepared
from synth.envs.repo.making.tools import make_tools
from synth.envs.repo.making.validation import Validation
from synth.envs.repo.pool import Pool, RepoTask, tools_of
from synth.schemas import content_hash

_TEXTS: dict[str, Any] = msgspec.yaml.decode(
    (Path(__file__).parent / "small_library.yaml").read_bytes()
)


def make_small_pool(folder: Path, beside: Path) -> Pool:
    """Writes the pool; `beside` is where the library is written first."""
    for path, text in _TEXTS["files"].items():
        (beside / path).parent.mkdir(parents=True, exist_ok=True)
        (beside / path).write_text(text)

    return asyncio.run(_made(folder, beside))


async def _made(folder: Path, beside: Path) -> Pool:
    make_tools(tools_of(folder))
    library = await prepared("shelf", folder, folder=beside, archives=folder)
    found = [await Validation(folder).task(library, broken) for broken in broken_trees()]
    tasks = [one for one in found if isinstance(one, RepoTask)]
    assert len(tasks) == len(found), found

    (folder / "tasks").mkdir(exist_ok=True)
    for task in tasks:
        (folder / "tasks" / f"{task.id}.json").write_bytes(msgspec.json.encode(task))

    ids = tuple(task.id for task in tasks)
    digest = content_hash([library.digest, sorted(ids)])
    pool = Pool(version=1, digest=digest, libraries=(library,), tasks=ids)
    (folder / "pool.json").write_bytes(msgspec.json.encode(pool))

    return pool


def broken_trees() -> list[BrokenTree]:
    """The ways in which the library is broken."""
    return [_broken(**told) for told in _TEXTS["broken"]]


def _broken(
    kind: str, edits: list[list[str]], hidden: dict[str, str] | None = None, sites: int = 1
) -> BrokenTree:
    texts = dict[str, str | None]()
    for path, old, new in edits:
        before = texts.get(path) or _TEXTS["files"][path]
        assert before.count(old) == 1, (path, old)
        texts[path] = before.replace(old, new)

    return BrokenTree(kind=kind, edits=texts, hidden=hidden or {}, sites=sites)
