"""Parts of a text by begin and end: lines, a sentence, the output of a command, a trimmed part."""

import re
from collections.abc import Callable, Iterator

Bounds = tuple[int, int]
"""Begin and end, in characters."""
Reader = Callable[[str, int, int], Iterator[Bounds]]
"""(text, begin, end of a rule's match) -> where values stand that are secrets."""

_SENTENCE_END = re.compile(r"[.!?](?=\s+[A-Z])|\n")
_BLANK = re.compile(r"\s")
_LONGEST_WORD = 100
_PROMPT = re.compile(r"\s*(?:\S{0,40}[$#>]|PS \S*>|>>>|In \[\d+\]:)\s")
_OUTPUT_LINES = 14


def end_of_line(text: str, at: int) -> int:
    """Where the line ends that a place stands in."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def lines(text: str, at: int, most: int) -> Iterator[Bounds]:
    """The line of a place, from that place on, and those that follow; `most` lines in all."""
    while at <= len(text) and most > 0:
        end = end_of_line(text, at)
        yield at, end
        at, most = end + 1, most - 1


def end_of_sentence(text: str, at: int, most: int) -> int:
    """Where a sentence ends, or, after `most` characters, the word that stands there."""
    found = _SENTENCE_END.search(text, at, at + most)
    stop = at + most if found is None else found.start()
    blank = _BLANK.search(text, stop, stop + _LONGEST_WORD)

    return stop + _LONGEST_WORD if blank is None else blank.start()


def end_of_output(text: str, at: int) -> int:
    """Where the lines end that a command printed: before a blank one, or the next prompt."""
    stop = at

    for first, last in lines(text, at, _OUTPUT_LINES):
        line = text[first:last]
        if first != at and (not line.strip() or _PROMPT.match(line)):
            break

        stop = last

    return stop


def trimmed(text: str, start: int, end: int, signs: str) -> Bounds:
    """A span without some signs at its begin and at its end."""
    said = text[start:end]
    bare = said.strip(signs)
    start += len(said) - len(said.lstrip(signs))

    return start, start + len(bare)
