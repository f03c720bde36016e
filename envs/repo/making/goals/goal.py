"""The goal of a task, out of how its tests fail; what it would give away is left out."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from pathlib import Path
from random import Random

from synth.envs.data_file import data_file
from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.making.goals.javascript import javascript_statement_at
from synth.envs.repo.making.goals.leaks import leaks
from synth.envs.repo.making.goals.statements import FailingStatement, statement_at
from synth.envs.repo.making.layout import CODE
from synth.envs.repo.making.runs import SeenFailure
from synth.envs.repo.making.trees import both_texts, text_of

WORDS: Mapping[str, str] = data_file("repo/goals")
MOST_TRIED, EXAMPLES = 16, 2
UNNAMED = 1 / 3
"""The share of goals that tell what goes wrong without naming a test, where that can be."""


class Telling(Enum):
    """How much of a failing test is told: never its name where it is hidden."""

    NAMED = "named"
    UNNAMED = "unnamed"
    HIDDEN = "hidden"


def goal_of(
    library: str, tree: Path, broken: BrokenTree, failing: Mapping[str, SeenFailure], chance: Random
) -> str | None:
    """What a task asks for; None where nothing can be said without giving the edit away."""
    unseen = {*broken.hidden, *broken.edits}  # an edited test is not what it is in the agent's tree
    hidden = all(seen.file in unseen for seen in failing.values())
    names = [name for name in failing if hidden or failing[name].file not in unseen]
    chance.shuffle(names)
    how = Telling.HIDDEN if hidden else Telling.NAMED
    if not hidden and chance.random() < UNNAMED:
        how = Telling.UNNAMED

    examples = _examples(tree, broken, {name: failing[name] for name in names[:MOST_TRIED]}, how)
    if not examples and not (hidden and broken.hint):
        return None
    return _whole(library, broken, examples, len(failing), hidden=hidden)


def _examples(
    tree: Path, broken: BrokenTree, failing: Mapping[str, SeenFailure], how: Telling
) -> list[str]:
    """How some tests fail, the first way of saying so that gives nothing away."""
    texts = both_texts(tree, broken)
    operators = f"{broken.about.get('operators', '')} {broken.kind}"
    found = list[str]()
    for name, seen in failing.items():
        ways = _told(name, seen, _statement(tree, broken, seen), how)
        sound = (
            said
            for said in ways
            if said not in found and not leaks(said, texts, operators=operators, told=broken.hint)
        )
        found += islice(sound, 1)
        if len(found) == EXAMPLES:
            break
    return found


def _whole(
    library: str, broken: BrokenTree, examples: Sequence[str], count: int, *, hidden: bool
) -> str:
    """All sentences together."""
    opening = WORDS["purpose" if broken.hint else "fault"]
    lines = [opening.format(library=library, hint=broken.hint.strip()), *examples]
    if hidden:
        lines.append(WORDS["hidden"])
    else:
        lines.append(WORDS["one_test" if count == 1 else "more_tests"].format(count=count))
    return "\n\n".join([lines[0], "\n".join(lines[1:]), WORDS["closing"].strip()])


def _told(
    name: str, seen: SeenFailure, statement: FailingStatement | None, how: Telling
) -> Iterator[str]:
    """Ways to say how a test fails, the fullest first; only a statement that calls something says
    enough without the name of its test.
    """
    whats = [] if statement is None else list(_whats(seen, statement))
    if seen.doc:
        whats = [f"{one} {WORDS['described'].format(doc=seen.doc)}" for one in whats] + whats
    if how is not Telling.NAMED and statement is not None and "(" in statement.text:
        yield from whats
    if how is not Telling.HIDDEN:
        yield from (WORDS["named"].format(test=f"`{name}`", what=one) for one in whats)
        yield WORDS["only_named"].format(test=f"`{name}`")


def _whats(seen: SeenFailure, statement: FailingStatement) -> Iterator[str]:
    """What a statement should have done, and what it did."""
    given = ", ".join(f"{name} = {value}" for name, value in seen.given.items())
    said = {
        "statement": statement.text,
        "error": seen.error,
        "message": " ".join(seen.message.split()),
        "given": WORDS["given"].format(given=given) if given else "",
    }
    if seen.compared is None:
        yield from (WORDS[one].format(**said) for one in _words(seen))
        return

    left, operator, right = seen.compared
    if statement.call and operator in ("==", "is"):
        gives, expected = (left, right) if statement.first else (right, left)
        yield WORDS["equal"].format(**said, call=statement.call, expected=expected, seen=gives)
    yield WORDS["sides"].format(**said, seen=left, expected=right)


def _words(seen: SeenFailure) -> Sequence[str]:
    """Which words tell of a failure, the fullest first."""
    if seen.message.startswith("DID NOT RAISE") or "not raised" in seen.message:
        return ("silent",)
    if seen.error == "AssertionError":
        mute = not seen.message or seen.message.startswith("assert ")
        return ("holds",) if mute else ("says", "holds")
    return ("raises", "raises_mutely") if seen.message else ("raises_mutely",)


def _statement(tree: Path, broken: BrokenTree, seen: SeenFailure) -> FailingStatement | None:
    text = broken.hidden.get(seen.file) or broken.solution.get(seen.file)
    found = javascript_statement_at if seen.file.endswith(CODE["node"]) else statement_at
    return found(text or text_of(tree / seen.file), seen.line)
