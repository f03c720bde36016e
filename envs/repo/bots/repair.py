"""Two agents without a model that repair: by the spectrum of what tests run, and by words.

What they repair is easy: a task worth training on asks for more than one small edit at a place
that failing tests point to.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice

import msgspec

from synth.envs.repo.bots.edits.splices import SmallEdit, small_edits
from synth.envs.repo.bots.spectrum import Place, ranked
from synth.envs.repo.bots.trying import RepairEdit, Spectrum, Workshop, workshop
from synth.envs.repo.source.text import SourceFile, readable
from synth.envs.repo.task_tree import TaskTree

SPECTRUM_EDITS, TEXT_EDITS = 150, 20
_NAME_IN_GOAL = 5
"""What a function's own name in the goal counts, beside one word in common with a failing test."""
_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*|[0-9]+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w+")


_Order = Callable[[Workshop, Spectrum], Awaitable[Iterator[RepairEdit]]]


class BotRepair(msgspec.Struct, frozen=True):
    """An edit that makes all visible tests pass, and how many were tried."""

    edit: RepairEdit
    tried: int


async def mended(place: TaskTree) -> Mapping[str, BotRepair]:
    """By bot, the first edit of its own with which all that an agent sees passes; none of a bot
    that finds none, and of nobody where nothing that an agent sees fails.
    """
    async with workshop(place) as shop:
        known = await shop.spectrum()
    if known is None or not known.failing:
        return {}

    found = dict[str, BotRepair]()
    for bot, (order, most) in BOTS.items():
        async with workshop(place) as shop:  # one that was stopped leaves its last edit behind
            every = list(islice(await order(shop, known), most))
            tried = await shop.first_repair(known, every)
        if tried.found >= 0:
            found[bot] = BotRepair(every[tried.found], tried.tried)

    return found


async def _suspected(shop: Workshop, known: Spectrum) -> Iterator[RepairEdit]:
    """Edits by the suspicion of their lines; of lines alike, the likely operators first."""
    ranking = ranked(known.lines, known.failing)
    sources = await _sources(shop, dict.fromkeys(path for (path, _), _ in ranking))
    by_place = defaultdict[Place, list[SmallEdit]](list)
    for path, source in sources.items():
        for edit in small_edits(source):
            by_place[path, edit.line].append(edit)

    order = [
        (-score, edit.rank, number, path, edit)
        for number, ((path, line), score) in enumerate(ranking)
        for edit in by_place[path, line]
    ]
    order.sort(key=lambda one: one[:3])

    return _candidates(((path, edit) for *_, path, edit in order), sources)


async def _named(shop: Workshop, known: Spectrum) -> Iterator[RepairEdit]:
    """Edits in the functions that are named most like what is asked, function by function."""
    goal, tests = shop.place.task.goal, set[str]()
    for test in known.failing:
        tests.update(words(test.split("::")[-1].partition("[")[0]) - {"test"})

    sources = await _sources(shop, shop.place.library.source)
    found = [
        (-likeness(node.name, goal, tests), path, node.lineno, node.end_lineno or node.lineno)
        for path, source in sources.items()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    order = (
        (path, edit)
        for score, path, first, last in sorted(found)
        if score < 0
        for edit in sorted(small_edits(sources[path]), key=lambda one: one.rank)
        if first <= edit.line <= last
    )

    return _candidates(order, sources)


async def _sources(shop: Workshop, paths: Iterable[str]) -> Mapping[str, SourceFile]:
    """The files that Python can read."""
    found = dict[str, SourceFile]()
    for path in paths:
        source = readable(await shop.text(path))
        if source is not None:
            found[path] = source

    return found


def _candidates(
    order: Iterable[tuple[str, SmallEdit]], sources: Mapping[str, SourceFile]
) -> Iterator[RepairEdit]:
    """The texts of edits, none twice."""
    seen = set[tuple[str, str]]()
    for path, edit in order:
        text = edit.applied(sources[path])
        if text is not None and (path, text) not in seen:
            seen.add((path, text))
            yield RepairEdit(path, text, edit.operator, edit.line)


def likeness(name: str, goal: str, tests: Collection[str]) -> int:
    """How much of a function's name is in the names of failing tests (twice), and in the goal."""
    told, mine = set(map(str.lower, _WORD.findall(goal))), words(name)
    in_goal = name in set(_IDENTIFIER.findall(goal))
    return 2 * len(mine & set(tests)) + len(mine & told) + _NAME_IN_GOAL * in_goal


def words(name: str) -> set[str]:
    """The words of a name: `test_clampLow` -> test, clamp, low."""
    return {word.lower() for word in _WORD.findall(name)}


BOTS: Mapping[str, tuple[_Order, int]] = {
    "spectrum": (_suspected, SPECTRUM_EDITS),
    "text": (_named, TEXT_EDITS),
}
"""By bot, the order in which it tries small edits, and how many: at the most suspicious lines; in
the functions whose names say most of what failing tests and goal say.
"""
