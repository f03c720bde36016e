"""Wrong patches that look right: the task's solution with one small slip on one of its lines, or
done by half.
"""

import ast
from collections.abc import Iterator
from random import Random

from synth.envs.repo.bots.edits.splices import small_edits
from synth.envs.repo.bots.judging import solution
from synth.envs.repo.kinds.javascript.parsed import parse
from synth.envs.repo.kinds.javascript.sites import sites
from synth.envs.repo.kinds.javascript.tree import JsTree
from synth.envs.repo.source.lines import changes
from synth.envs.repo.source.text import readable, spliced
from synth.envs.repo.task_tree import Changes, TaskTree


def wrong_patches(place: TaskTree, most: int, draw: str = "") -> list[tuple[str, Changes]]:
    """(what is wrong, changes) of at most so many patches, drawn by the task's id, and by `draw`
    for who wants others.
    """
    every = list(_every(place))
    return every if len(every) <= most else Random(f"{place.task.id}{draw}").sample(every, most)


def _every(place: TaskTree) -> Iterator[tuple[str, Changes]]:
    """All of them; none does what the solution does as far as its syntax tells."""
    right = solution(place)
    for path, text in place.wanted.items():
        before = place.task.edits.get(path, place.pristine(path)) or ""
        if text is None:
            continue

        is_python = path.endswith(".py")
        same = _same if is_python else str.__eq__
        slips = _slips(before, text) if is_python else _javascript_slips(path, before, text)
        halves = (("half", half) for half in _halves(before, text))
        for name, after in (*halves, *slips):
            if not same(after, text) and not same(after, before):
                yield name, {**right, path: place.file(path, after)}

    if len(right) > 1:
        for path in right:
            yield "one file left out", {one: file for one, file in right.items() if one != path}


def _slips(before: str, text: str) -> Iterator[tuple[str, str]]:
    """(operator, text) for each small edit of a line that is new."""
    source, lines = readable(text), _fresh(before, text)
    for edit in small_edits(source) if source is not None else ():
        after = edit.applied(source) if source is not None and edit.line in lines else None
        if after is not None:
            yield edit.operator, after


def _javascript_slips(path: str, before: str, text: str) -> Iterator[tuple[str, str]]:
    """The same of JavaScript; edits that leave none are left out."""
    tree, lines = JsTree({path: text}, ()), _fresh(before, text)
    found = dict[str, str]()
    for function in tree.functions:
        for operator, edit in sites(tree, function):
            if text.count("\n", 0, edit.start) + 1 in lines:
                found.setdefault(spliced(text, [edit]), operator)

    read = parse(dict(zip(map(str, range(len(found))), found, strict=True))) if found else {}
    for at, (after, operator) in enumerate(found.items()):
        if str(at) in read:
            yield operator, after


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
