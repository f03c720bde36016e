"""Wrong patches that look right: the task's solution with one small slip on one of its lines, or
done by half.
"""

import ast
from collections.abc import Iterator
from difflib import SequenceMatcher
from random import Random

from synth.envs.repo.bots.edits.splices import small_edits
from synth.envs.repo.bots.judging import solution
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
    codes = _codes(before, after)
    return frozenset(
        line + 1 for what, _, _, c, d in codes if what != "equal" for line in range(c, d)
    )


def _halves(before: str, after: str) -> Iterator[str]:
    """A text with one of its several changes left out."""
    old, new = before.splitlines(True), after.splitlines(True)
    codes = _codes(before, after)
    changed = [at for at, code in enumerate(codes) if code[0] != "equal"]
    for out in changed if len(changed) > 1 else ():
        yield "".join(
            "".join(old[a:b] if at == out else new[c:d]) for at, (_, a, b, c, d) in enumerate(codes)
        )


def _codes(before: str, after: str) -> list[tuple[str, int, int, int, int]]:
    """In what two texts differ, by lines."""
    old, new = before.splitlines(True), after.splitlines(True)
    return list(SequenceMatcher(None, old, new, autojunk=False).get_opcodes())


def _same(one: str, other: str) -> bool:
    """Whether two texts are the same program; one that cannot be read is none."""
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except (SyntaxError, ValueError):
        return one == other
