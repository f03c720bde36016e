"""The edits that make one text of another, each as a replacement of lines that occur just once."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from synth.envs.repo.source.lines import Span, changes

JOINED_WITHIN = 2
"""Changes with so few equal lines between them are one edit, as a person would make it."""
LARGEST_LINES = 4000
"""Where more lines lie between the first and the last change, they are one edit: the search for
equal ones is quadratic.
"""


class Hunk(msgspec.Struct, frozen=True):
    """`old` occurs once in the text and is to become `new`; `line` is its first one, from 1."""

    old: str
    new: str
    line: int

    @property
    def last(self) -> int:
        """The last line of `old`."""
        return self.line + max(self.old.count("\n") - self.old.endswith("\n"), 0)


@lru_cache(maxsize=512)
def hunks(now: str, wanted: str) -> tuple[Hunk, ...]:
    """What is to be replaced, from the top; each is found once in `now`."""
    lines, target = now.splitlines(keepends=True), wanted.splitlines(keepends=True)
    spans = _grown(now, lines, list(_joined(_changes(lines, target))))

    return tuple(
        Hunk("".join(lines[first:last]), "".join(target[start:end]), first + 1)
        for first, last, start, end in spans
    )


def _changes(lines: Sequence[str], target: Sequence[str]) -> Iterator[Span]:
    """Runs of lines that differ."""
    first, last, start, end = whole = _between(lines, target)
    if last - first + end - start > LARGEST_LINES:
        yield whole
        return

    for one, two, three, four in changes(lines[first:last], target[start:end]):
        yield first + one, first + two, start + three, start + four


def _between(lines: Sequence[str], target: Sequence[str]) -> Span:
    """All lines between those that are equal at the head and at the tail."""
    shorter = min(len(lines), len(target))
    head = next((at for at in range(shorter) if lines[at] != target[at]), shorter)
    rest = shorter - head
    tail = next((at for at in range(rest) if lines[-1 - at] != target[-1 - at]), rest)

    return head, len(lines) - tail, head, len(target) - tail


def _joined(changes: Iterator[Span]) -> Iterator[Span]:
    """Changes that stand close together as one."""
    held: Span | None = None

    for change in changes:
        if held is not None and change[0] - held[1] <= JOINED_WITHIN:
            held = (held[0], change[1], held[2], change[3])
            continue

        if held is not None:
            yield held
        held = change

    if held is not None:
        yield held


def _grown(now: str, lines: Sequence[str], spans: list[Span]) -> list[Span]:
    """Changes with as many equal lines around them as make them unique; two that would need each
    other's lines are one.
    """
    for at, (first, last, start, end) in enumerate(spans):
        low = spans[at - 1][1] if at else 0
        high = spans[at + 1][0] if at + 1 < len(spans) else len(lines)

        while not _is_unique(now, lines, first, last) and (first > low or last < high):
            if first > low:
                first, start = first - 1, start - 1
            elif last < high:
                last, end = last + 1, end + 1

        if not _is_unique(now, lines, first, last):
            one = min(at, len(spans) - 2)
            (first, _, start, _), (_, last, _, end) = spans[one : one + 2]
            whole = (first, last, start, end)
            return _grown(now, lines, [*spans[:one], whole, *spans[one + 2 :]])

        spans[at] = (first, last, start, end)

    return spans


def _is_unique(now: str, lines: Sequence[str], first: int, last: int) -> bool:
    """Whether these lines occur once, or are all lines."""
    if first == 0 and last == len(lines):
        return True

    return first < last and occurs_once("".join(lines[first:last]), now)


def occurs_once(text: str, where: str) -> bool:
    """Whether a text occurs just once, overlaps counted."""
    place = where.find(text)
    return place >= 0 and place == where.rfind(text)
