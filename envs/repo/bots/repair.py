"""Two agents without a model that repair: by the spectrum of what tests run, and by words.

What they repair is easy: a task worth training on asks for more than one small edit at a place
that failing tests point to.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from synth.envs.repo.bots.spectrum import Place, ranked
from synth.envs.repo.bots.splices import LIKELY, Splice, splices
from synth.envs.repo.bots.trying import Candidate, Spectrum, Workshop, workshop
from synth.envs.repo.task_tree import TaskTree

SPECTRUM_EDITS, TEXT_EDITS = 150, 20
_NAME_IN_GOAL = 5
"""What a function's own name in the goal counts, beside one word in common with a failing test."""
_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*|[0-9]+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w+")


class BotRepair(msgspec.Struct, frozen=True):
    """An edit that makes all visible tests pass, and how many were tried."""

    edit: Candidate
    tried: int


async def by_spectrum(place: TaskTree, edits: int = SPECTRUM_EDITS) -> BotRepair | None:
    """Tries small edits at the most suspicious lines."""
    async with workshop(place) as shop:
        known = await shop.spectrum()
        if known is None or not known.failing:
            return None
        return await _tried(shop, known, islice(await _suspected(shop, known), edits))


async def by_text(place: TaskTree, edits: int = TEXT_EDITS) -> BotRepair | None:
    """Tries small edits in the function whose name says most of what failing tests and goal say."""
    async with workshop(place) as shop:
        known = await shop.spectrum()
        if known is None or not known.failing:
            return None
        return await _tried(shop, known, islice(await _named(shop, known), edits))


async def _tried(shop: Workshop, known: Spectrum, edits: Iterable[Candidate]) -> BotRepair | None:
    """The first edit that mends."""
    every = list(edits)
    tried = await shop.first_repair(known, every)
    return None if tried.found < 0 else BotRepair(every[tried.found], tried.tried)


async def _suspected(shop: Workshop, known: Spectrum) -> Iterator[Candidate]:
    """Edits by the suspicion of their lines; of lines alike, the likely operators first."""
    ranking = ranked(known.lines, known.failing)
    texts = {path: await shop.text(path) for path in dict.fromkeys(at[0] for at, _ in ranking)}
    by_place = defaultdict[Place, list[Splice]](list)
    for path, text in texts.items():
        for splice in splices(text):
            by_place[path, splice.line].append(splice)

    order = [
        (-score, _rank(splice), number, place, splice)
        for number, (place, score) in enumerate(ranking)
        for splice in by_place[tuple(place)]  # type: ignore[index]
    ]
    order.sort(key=lambda one: one[:3])

    return (_candidate(place[0], texts[place[0]], splice) for *_, place, splice in order)


async def _named(shop: Workshop, known: Spectrum) -> Iterator[Candidate]:
    """Edits in the functions that are named most like what is asked, function by function."""
    goal = shop.place.task.goal
    told, identifiers = set(map(str.lower, _WORD.findall(goal))), set(_IDENTIFIER.findall(goal))
    tests = set[str]()
    for test in known.failing:
        tests.update(words(test.split("::")[-1].partition("[")[0]) - {"test"})

    texts = {path: await shop.text(path) for path in shop.place.library.source}
    found = []
    for path, text in texts.items():
        for name, first, last in functions(text):
            score = 2 * len(words(name) & tests) + len(words(name) & told)
            score += _NAME_IN_GOAL * (name in identifiers)
            found.append((-score, path, first, last))

    return _within(sorted(one for one in found if one[0] < 0), texts)


def _within(order: Sequence[tuple[int, str, int, int]], texts: dict[str, bytes]) -> Iterator[Candidate]:
    """The edits of some functions, likely ones first in each."""
    for _, path, first, last in order:
        inside = [one for one in splices(texts[path]) if first <= one.line <= last]
        for splice in sorted(inside, key=_rank):
            yield _candidate(path, texts[path], splice)


def words(name: str) -> set[str]:
    """The words of a name: `test_clampLow` -> test, clamp, low."""
    return {word.lower() for word in _WORD.findall(name)}


def functions(source: bytes) -> Iterator[tuple[str, int, int]]:
    """(name, first line, last line) of the functions of a file."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, node.end_lineno or node.lineno


def _rank(splice: Splice) -> int:
    return LIKELY.index(splice.operator) if splice.operator in LIKELY else len(LIKELY)


def _candidate(path: str, text: bytes, splice: Splice) -> Candidate:
    after = splice.applied(text).decode(errors="surrogateescape")
    return Candidate(path, after, splice.operator, splice.line)
