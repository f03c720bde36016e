"""Wrong patches that look right: the task's solution with one small slip on one of its lines, or
done by half.
"""

import ast
from collections.abc import Iterator
from random import Random

from synth.envs.repo.bots.edits.splices import small_edits
from synth.envs.repo.bots.judging import solution
from synth.envs.repo.source.lines import changes
from synth.envs.repo.source.text import readable
from synth.envs.repo.task_tree import Changes, TaskTree


def wrong_patches(place: TaskTree, most: int) -> list[tuple[str, Changes]]:
    """(what is wrong, changes) of at most so many patches, drawn by the task's id."""
    every = list(_every(place))
    return every if len(every) <= most else Random(place.task.id).sample(every, most)


def _every(place: TaskTree) -> Iterator[tuple[str, Changes]]:
    """All of them; none does what the solution does as far as its syntax tells."""
    right = solution(place)
    for path, text in place.wanted.items():
        before = place.task.edits.get(path, place.pristine(path)) or ""
        if text is None or not path.endswith(".py"):
            continue

        for half in _halves(before, text):
            if not _same(half, text) and not _same(half, before):
                yield "half", {**right, path: place.file(path, half)}

        source = readable(text)
        if source is None:
            continue

        lines = _fresh(before, text)
        for edit in small_edits(source):
            after = edit.applied(source) if edit.line in lines else None
            if after is not None and not _same(after, text) and not _same(after, before):
                yield edit.operator, {**right, path: place.file(path, after)}

    if len(right) > 1:
        for path in right:
            yield "one file left out", {one: file for one, file in right.items() if one != path}


def _fresh(before: str, after: str) -> frozenset[int]:
    """The lines of a text that stand in it anew."""
    runs = changes(before.splitlines(True), after.splitlines(True))
    return frozenset(line + 1 for *_, start, end in runs for line in range(start, end))


def _halves(before: str, after: str) -> Iterator[str]:
    """A text with one of its several changes left out."""
    old, new = before.splitlines(True), after.splitlines(True)
    runs = list(changes(old, new))
    for first, last, start, end in runs if len(runs) > 1 else ():
        yield "".join([*new[:start], *old[first:last], *new[end:]])


def _same(one: str, other: str) -> bool:
    """Whether two texts are the same program; one that cannot be read is none."""
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except (SyntaxError, ValueError):
        return one == other
