"""Edits that are nearly right: one slip in one line of code, whatever its language."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from synth.envs.data_file import data_file
from synth.envs.repo.repair.hunks import Hunk, hunks

_FUNCTION = re.compile(r"^(\s*)(?:async\s+)?(?:def|function)\s+(\w+)")
_NO_CODE = ("#", "//", '"', "'", "*", "@", "import ", "from ")
_CLOSES_ITSELF = re.compile(r"^\s*(?:if|while|elif)\b")


@cache
def _rules() -> list[tuple[str, re.Pattern[str], str]]:
    """(kind, what is sought, what it becomes), in the order in which they are tried."""
    return [(kind, re.compile(sought), to) for kind, sought, to in data_file("repo/slips")]


def slips(text: str, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
    """(kind, the whole text with one slip) for each of these lines, from 0, and each slip in it."""
    every = text.splitlines(keepends=True)

    for at in lines:
        line = every[at] if at < len(every) else ""
        if not line.strip() or line.lstrip().startswith(_NO_CODE):
            continue

        for kind, pattern, to in _rules():
            if kind == "condition" and not _is_python(line):
                continue

            slipped = pattern.sub(lambda _, to=to: to, line, count=1)  # type: ignore[misc]
            if slipped != line:
                yield kind, "".join([*every[:at], slipped, *every[at + 1 :]])


def _is_python(line: str) -> bool:
    """Whether `not` can stand in a condition of this line."""
    return not _CLOSES_ITSELF.match(line) or line.rstrip().endswith(":")


def slipped_edits(now: str, wanted: str) -> Iterator[tuple[str, Hunk]]:
    """The first edit that is to be made, with a slip in its changed lines: (kind, edit)."""
    right = next(iter(hunks(now, wanted)), None)
    if right is None:
        return

    kept = set(right.old.splitlines())
    fresh = [at for at, line in enumerate(right.new.splitlines()) if line not in kept]
    for kind, text in slips(right.new, fresh):
        if text != right.old:
            yield kind, Hunk(right.old, text, right.line)


def functions(text: str) -> list[tuple[str, range]]:
    """The functions of a text, each by its name and its lines (from 0), as far as indentation
    tells; a method as well as the function in it.
    """
    lines = text.splitlines()
    found = []

    for at, line in enumerate(lines):
        head = _FUNCTION.match(line)
        if head is None:
            continue

        depth = len(head[1])
        inside = (
            place
            for place in range(at + 1, len(lines))
            if lines[place].strip()
            and len(lines[place]) - len(lines[place].lstrip()) <= depth
            and not lines[place].lstrip().startswith((")", "}"))
        )
        found.append((head[2], range(at, next(inside, len(lines)))))

    return found


def function_at(text: str, line: int) -> str | None:
    """The innermost function that a line (from 1) stands in."""
    around = [name for name, lines in functions(text) if line - 1 in lines]
    return around[-1] if around else None
