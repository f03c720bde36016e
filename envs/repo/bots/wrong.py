"""Wrong patches that look right: the task's solution with one small slip on one of its lines, or
done by half.
"""

from collections.abc import Iterator
from random import Random

from synth.envs.repo.bots.edits.splices import small_edits
from synth.envs.repo.kinds.javascript.parsed import parse
from synth.envs.repo.kinds.javascript.sites import sites
from synth.envs.repo.kinds.javascript.tree import JsTree
from synth.envs.repo.source.behaviour import behaviour
from synth.envs.repo.source.fresh import fresh_places, touches
from synth.envs.repo.source.lines import changes
from synth.envs.repo.source.text import readable, spliced
from synth.envs.repo.task_tree import Changes, TaskTree

HALF, FILE_LEFT_OUT = HALVES = ("half", "one file left out")


def telling_patches(place: TaskTree, slips: int) -> list[Changes]:
    """What a check is graded by: every half of the solution, since one that passes says that no
    test asks for the other half, and at most so many slips, drawn by the task's id.
    """
    every = list(wrong_patches(place))
    halves = [changes for name, changes in every if name in HALVES]
    others = [changes for name, changes in every if name not in HALVES]
    drawn = others if len(others) <= slips else Random(place.task.id).sample(others, slips)

    return [*halves, *drawn]


def wrong_patches(place: TaskTree) -> Iterator[tuple[str, Changes]]:
    """(what is wrong, changes) of all patches; none does what the solution does as far as its
    syntax tells.
    """
    right, differ = place.solved, list[str]()
    for path, text in place.wanted.items():
        before = place.task.edits.get(path, place.pristine(path)) or ""
        is_python = path.endswith(".py")
        same = _same if is_python else str.__eq__
        if text is None or not same(before, text):
            differ.append(path)
        if text is None:
            continue

        slips = _slips(before, text) if is_python else _javascript_slips(path, before, text)
        halves = ((HALF, half) for half in _halves(before, text))
        for name, after in (*halves, *slips):
            if not same(after, text) and not same(after, before):
                yield name, {**right, path: place.file(path, after)}

    for path in differ if len(differ) > 1 else ():
        yield FILE_LEFT_OUT, {one: file for one, file in right.items() if one != path}


def _slips(before: str, text: str) -> Iterator[tuple[str, str]]:
    """(operator, text) for each small edit of what is new."""
    source, fresh = readable(text), fresh_places(before, text)
    for edit in small_edits(source) if source is not None else ():
        is_new = touches(fresh, edit.edit)
        after = edit.applied(source) if source is not None and is_new else None
        if after is not None:
            yield edit.operator, after


def _javascript_slips(path: str, before: str, text: str) -> Iterator[tuple[str, str]]:
    """The same of JavaScript; edits that leave none are left out."""
    tree, fresh = JsTree({path: text}, ()), fresh_places(before, text)
    found = dict[str, str]()
    for function in tree.functions:
        for operator, edit in sites(tree, function):
            if touches(fresh, edit):
                found.setdefault(spliced(text, [edit]), operator)

    read = parse(dict(zip(map(str, range(len(found))), found, strict=True))) if found else {}
    for at, (after, operator) in enumerate(found.items()):
        if str(at) in read:
            yield operator, after


def _halves(before: str, after: str) -> Iterator[str]:
    """A text with one of its several changes left out."""
    old, new = before.splitlines(True), after.splitlines(True)
    runs = list(changes(old, new))
    for first, last, start, end in runs if len(runs) > 1 else ():
        yield "".join([*new[:start], *old[first:last], *new[end:]])


def _same(one: str, other: str) -> bool:
    """Whether two texts do the same as far as syntax tells; one that cannot be read is none."""
    try:
        return behaviour(one) == behaviour(other)
    except (SyntaxError, ValueError):
        return one == other
