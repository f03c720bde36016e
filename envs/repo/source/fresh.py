"""What stands in a text anew, word by word."""

import re
from collections.abc import Iterator

from synth.envs.repo.source.lines import changes
from synth.envs.repo.source.text import Edit

_WORD = re.compile(r"\w+|\s+|[^\w\s]+")
Places = frozenset[int]
"""Characters of a text, by number."""


def fresh_places(before: str, after: str) -> Places:
    """The characters of the words that a text has and another one does not have there; of a change
    that only takes words away, those of its lines.
    """
    old, new = before.splitlines(True), after.splitlines(True)
    starts = [0]
    for line in new:
        starts.append(starts[-1] + len(line))

    found = set[int]()
    for first, last, start, end in changes(old, new):
        words = _fresh_words("".join(old[first:last]), "".join(new[start:end]))
        at = starts[start]
        found.update(at + one for one in words)
        if not words:
            found.update(range(at, starts[end]))

    return frozenset(found)


def touches(places: Places, edit: Edit) -> bool:
    """Whether an edit changes one of some places, or puts something beside one."""
    if edit.start == edit.end:
        return edit.start in places or edit.start - 1 in places
    return not places.isdisjoint(range(edit.start, edit.end))


def _fresh_words(before: str, after: str) -> set[int]:
    old, new = _WORD.findall(before), _WORD.findall(after)
    return set(_of_spans(old, new))


def _of_spans(old: list[str], new: list[str]) -> Iterator[int]:
    ends = [0]
    for word in new:
        ends.append(ends[-1] + len(word))
    for _, _, start, end in changes(old, new):
        yield from (at for at in range(ends[start], ends[end]))
