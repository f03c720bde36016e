"""Explorations of a broken tree: what can be done there, and what a walk has mended, in words."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from synth.envs.data_file import data_file
from synth.envs.episode import instructions
from synth.envs.repo.checking import name_of
from synth.envs.repo.repair import acts
from synth.envs.repo.repair.acts import Act
from synth.envs.repo.repair.hunks import occurs_once
from synth.envs.repo.repair.plan import as_act
from synth.envs.repo.repair.slips import functions, slipped_edits, slips
from synth.envs.repo.source.text import readable
from synth.envs.repo.task_tree import TaskTree
from synth.schemas import Draft, Facts, NoGoal, ToolCall, Window

MOST_RIGHT, MOST_NEAR, MOST_ELSEWHERE = 6, 4, 6
"""Edits that are offered: right ones, right ones with a slip, slips in other functions; beside
right ones there is but one of each of the others, as most walks would only break something else.
"""
MOST_LINES = 3
"""Tests that a goal tells of one by one."""
LONGEST_CLAIM = 200


def looks(place: TaskTree) -> Iterator[Act]:
    """The root, runs of the tests, the broken files."""
    engine, words = place.library.engine, acts.words()
    yield acts.bash(words.look_around[engine][0])

    for path in place.seen_tests[:2]:
        yield acts.bash(words.run_quietly[engine].replace("{file}", path))

    for path in sorted(place.wanted)[:3]:
        yield "view", {"path": path, "lines": "1-60"}


def possible_edits(
    wanted: Mapping[str, str | None], now: Mapping[str, str | None], *, also_right: bool
) -> list[Act]:
    """Edits that can be made as things stand."""
    right = [
        act for path in sorted(wanted) for act in acts.edits(path, now.get(path), wanted[path])
    ]
    near, elsewhere = list[Act](), list[Act]()

    for path in sorted(wanted):
        text, whole = now.get(path), wanted[path]
        if text is None or whole is None:
            continue

        near += [acts.replace(path, hunk) for _, hunk in slipped_edits(text, whole)]
        elsewhere += [act for act in _slips_of(path, text, whole) if act not in right]

    if also_right:
        return [*right[:MOST_RIGHT], *near[:1], *_spread(elsewhere, 1)]

    return [*_spread(near, MOST_NEAR), *_spread(elsewhere, MOST_ELSEWHERE)]


def _slips_of(path: str, text: str, whole: str) -> Iterator[Act]:
    """Slips in every function of a file, but for those that make it whole."""
    lines = [at for _, places in functions(text) for at in places]
    for _, other in slips(text, lines):
        act = as_act(path, text, other) if other != whole else None
        if act is not None:
            yield act


def _spread(found: list[Act], most: int) -> list[Act]:
    """At most so many, from all over the list."""
    step = max(len(found) // most, 1)
    return found[::step][:most]


def goal_of(place: TaskTree, pinned: Mapping[str, object], window: Window) -> Draft | NoGoal:
    """What failed before a window and passes after it, in words out of the tests alone."""
    mended, broken = _changed(window.start, window.end)
    if broken:
        return NoGoal("breaks_tests")
    if not mended:
        return NoGoal("mends_nothing")

    free = tuple(path for path, value in window.end.items() if value is False)
    goal = _goal(place, mended, others=bool(free))
    if goal is None:
        return NoGoal("no_words")

    calls = [call for operation in window.operations for call in operation.turn.tool_calls]

    return Draft(
        goal=goal,
        low_level=instructions(window),
        structure=f"{place.library.name}: {'; '.join(sorted(mended))}",
        script={"task": place.task.id, "wanted": _mended(place, calls)},
        env_config=dict(pinned),
        free=free,
        seed=0,
    )


def _goal(place: TaskTree, mended: Sequence[str], *, others: bool) -> str | None:
    """What these tests claim, and whether others fail; None where none of them says anything."""
    said = list(dict.fromkeys(filter(None, (_claim(place, name) for name in mended))))
    if not said:
        return None

    words, more = _words(), len(mended) - min(len(said), MOST_LINES)
    head = words["one" if len(mended) == 1 else "several"]
    lines = [head.format(library=place.library.name, count=len(mended)), *said[:MOST_LINES]]
    lines += [words["more"].format(count=more)] if more > 0 else []
    lines += [words["others"]] if others else []

    return "\n".join([*lines, words["end"]])


def _mended(place: TaskTree, calls: Sequence[ToolCall]) -> Mapping[str, str]:
    """The sources as the edits of a window leave them; none where they do not fit the start."""
    texts = dict[str, str]()
    for call in calls:
        told = call.parsed()
        path = told.get("path", "")
        if call.name != "replace" or not place.counts(path):
            continue

        before = texts.get(path) or place.start_texts([path])[path] or ""
        if not occurs_once(told["old"], before):
            return {}
        texts[path] = before.replace(told["old"], told["new"])

    return texts


def _changed(start: Facts, end: Facts) -> tuple[list[str], list[str]]:
    """(tests that pass now and did not, tests that did and do not)."""
    tests = [path for path in start if path.startswith("test/")]
    changed = [path for path in tests if start[path] != end.get(path)]
    named = [(name_of(path.split("/")[1]), end.get(path)) for path in changed]

    return [name for name, now in named if now], [name for name, now in named if not now]


@cache
def _words() -> Mapping[str, str]:
    """The parts of a goal."""
    found: Mapping[str, str] = data_file("repo/mended")
    return found


def _claim(place: TaskTree, name: str) -> str | None:
    """What a test claims, in words; None where its text says nothing."""
    path = place.library.tests.get(name, name.partition("::")[0])
    text = place.task.hidden.get(path) or place.task.solution.get(path) or place.pristine(path)
    wanted = name.rpartition("::")[2].partition("[")[0]
    source = readable(text or "")
    nodes = ast.walk(source.tree) if source else ()
    found = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == wanted]
    return _said(found[0]) if found else None


def _said(test: ast.FunctionDef) -> str | None:
    """The first claim of a test."""
    words, doc = _words(), (ast.get_docstring(test) or "").partition("\n")[0].strip(" .")
    beside = words["doc"].format(doc=doc) if doc else ""

    for node in ast.walk(test):
        stated = _stated(node)
        if stated:
            form, parts = stated
            return words[form].format(**parts, doc=beside)

    told = re.sub(r"^test_?", "", test.name).replace("_", " ").strip()

    return words["told"].format(name=repr(told), doc=beside) if doc and told else None


def _stated(node: ast.AST) -> tuple[str, Mapping[str, str]] | None:
    """(form of words, its parts) of an assertion; None of all else."""
    match node:
        case ast.Assert(test=claim):
            return "asserted", {"claim": _source(claim)}
        case ast.Call(func=ast.Attribute(attr="assertEqual"), args=[one, other, *_]):
            return "asserted", {"claim": f"{_source(one)} == {_source(other)}"}
        case ast.With(
            items=[
                ast.withitem(
                    context_expr=ast.Call(
                        func=ast.Attribute(attr="raises" | "assertRaises"), args=[error, *_]
                    )
                )
            ],
            body=[first, *_],
        ):
            return "raised", {"call": _source(first), "error": _source(error)}

    return None


def _source(node: ast.AST) -> str:
    """A piece of code on one line."""
    text = " ".join(ast.unparse(node).split())
    return f"`{text if len(text) <= LONGEST_CLAIM else f'{text[:LONGEST_CLAIM]} ...'}`"
