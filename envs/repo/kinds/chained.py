"""Three tasks of one library on one tree, to be done one after the other."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from random import Random

import msgspec

from synth.envs.data_file import data_file
from synth.envs.repo.broken import BrokenTree, told_of
from synth.envs.repo.pool import Library, RepoTask
from synth.envs.repo.source.lines import changes

KIND = "chained"
_LENGTH, _MOST = 3, 20_000
_WORDS = data_file("repo/kinds")
_Hunk = tuple[int, int, list[str]]
"""First line, the line after the last one, what stands there instead."""


def chained(library: Library, base: Path, random: Random) -> Iterator[BrokenTree]:
    """The tasks that the pool has of the library so far, three at a time, none in two chains."""
    tasks = _tasks_of(base.parent.parent / "tasks", library.name)
    random.shuffle(tasks)
    used = set[str]()
    for tried, three in enumerate(combinations(tasks, _LENGTH)):
        if tried == _MOST:
            return
        if used.isdisjoint(one.id for one in three) and len({one.kind for one in three}) > 1:
            broken = chain_of(base, three)
            if broken is not None:
                used.update(one.id for one in three)
                yield broken


def chain_of(base: Path, tasks: Sequence[RepoTask]) -> BrokenTree | None:
    """All of their edits in one tree; None where two touch the same lines."""
    edits = merged(base, [task.edits for task in tasks])
    solution = merged(base, [dict(task.solution) for task in tasks])
    hidden = {path: text for task in tasks for path, text in task.hidden.items()}
    if edits is None or solution is None or len(hidden) < sum(len(one.hidden) for one in tasks):
        return None
    if any(path in solution for path in hidden):
        return None
    kinds = " ".join(sorted(task.kind for task in tasks))
    return BrokenTree(
        kind=KIND,
        edits=edits,
        solution={path: text for path, text in solution.items() if text is not None},
        hidden=hidden,
        sites=sum(task.sites for task in tasks),
        steps=tuple(task.id for task in tasks),
        hint=_in_turn(tasks),
        about=told_of(kinds, edits, (task.about.get("functions", "") for task in tasks)),
    )


def _in_turn(tasks: Sequence[RepoTask]) -> str:
    """Their goals, one after the other."""
    goals = (task.goal.rpartition("\n\n")[0] for task in tasks)
    told = "\n\n".join(f"{at}. {goal}" for at, goal in enumerate(goals, 1))
    return str(_WORDS["chain"].format(goals=told))


def merged(base: Path, several: Sequence[Mapping[str, str | None]]) -> dict[str, str | None] | None:
    """Texts by path that hold the changes of all; None where two change the same lines."""
    found: dict[str, str | None] = {}
    for path in sorted({path for edits in several for path in edits}):
        texts = [edits[path] for edits in several if path in edits]
        if len(texts) == 1:
            found[path] = texts[0]
            continue
        place = base / path
        if None in texts or not place.exists():
            return None
        text = _merged_text(place.read_bytes().decode(), [one for one in texts if one is not None])
        if text is None:
            return None
        found[path] = text
    return found


def _merged_text(base: str, texts: Sequence[str]) -> str | None:
    lines = base.splitlines(keepends=True)
    hunks = sorted(hunk for text in texts for hunk in _hunks(lines, text.splitlines(keepends=True)))
    out, at = list[str](), 0
    for start, end, new in hunks:
        if start < at or (start == at and out):  # neighbours may be one change in two parts
            return None
        out += [*lines[at:start], *new]
        at = end
    return "".join([*out, *lines[at:]])


def _hunks(lines: list[str], other: list[str]) -> Iterator[_Hunk]:
    for first, last, start, end in changes(lines, other):
        yield first, last, other[start:end]


def _tasks_of(folder: Path, library: str) -> list[RepoTask]:
    places = sorted(folder.glob("*.json")) if folder.is_dir() else []
    tasks = [msgspec.json.decode(place.read_bytes(), type=RepoTask) for place in places]
    return [one for one in tasks if one.library == library and not one.steps]
