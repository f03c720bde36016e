"""Many regular expressions searched in one pass over a text (RE2's set), with the hits of `re`.

Where a pattern occurs is asked of RE2 too: in time that grows with the text alone, whatever stands
in it. The reference is `re.compile(pattern, re.ASCII)`: `\\w`, `\\d`, `\\s` and `\\b` speak of
ASCII. RE2 has no look-around and no back-references.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Any

import re2

MEMORY_BYTES = 1 << 26
"""That the set's automaton may grow to; there RE2 drops it and begins it anew."""
_END = r"\z"
"""Occurs in every text: where RE2 does not report it, its automaton did not fit, and nothing it
says counts.
"""
_UNREADABLE = re.compile("[\u017f\u212a\ud800-\udfff]")
"""Long s and the Kelvin sign, which RE2 takes for s and k where case is ignored and `re.ASCII` does
not; lone surrogates.
"""
_OPEN_RANGE = re.compile(r"\{,\d+\}")
_COUNTED = 4
"""Repeats up to which the set's automaton counts; what it finds beyond is looked at again, one
pattern at a time.
"""
_REPEAT = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\{(\d+)(,?)(\d*)\}", re.DOTALL)
_WHITE = r"\t-\r "
Spans = list[tuple[int, int]]


class PatternSet:
    """`patterns`: name -> expression, with flags in front, such as `(?i)`.

    Raises `ValueError`, naming the pattern, for what RE2 cannot search as `re` does: look-around,
    back-references, `$` without `(?m)` (say `\\Z`), characters beyond ASCII where case is ignored,
    and what matches the empty text. With `open_repeats` the one pass counts no long repeats, and
    what it finds is looked at again: for hundreds of patterns.
    """

    def __init__(self, patterns: Mapping[str, str], *, open_repeats: bool = False) -> None:
        self.names = tuple(patterns)
        self._patterns = {
            name: _Pattern(name, pattern, open_repeats=open_repeats)
            for name, pattern in patterns.items()
        }
        self._set = re2.Set.SearchSet(_options())
        for one in self._patterns.values():
            self._set.Add(one.loosened)

        self._set.Add(_END)

        try:
            self._set.Compile()
        except re2.error as error:
            said = f"{len(patterns)} patterns are too large for one pass: {', '.join(patterns)}"
            raise ValueError(said[:300]) from error

        self._literal = re.search(f"{_UNREADABLE.pattern}|\ufffd", "".join(patterns.values()))

    def hits(self, text: str) -> tuple[str, ...]:
        """Names of the patterns that occur in a text, in the order they were given in."""
        found = self.candidates(text)
        if self._literal or not any(self._patterns[name].is_loose for name in found):
            return found

        data = _encoded(text)

        return tuple(name for name in found if self._patterns[name].occurs(data))

    def candidates(self, text: str) -> tuple[str, ...]:
        """Names of all patterns that occur in a text, and of some that only begin as they should.

        That is enough to tell what to look at.
        """
        if not self._literal:
            found = sorted(self._set.Match(_encoded(text)) or ())
            if found and found[-1] == len(self.names):
                return tuple(self.names[at] for at in found[:-1])

        return tuple(name for name, one in self._patterns.items() if one.plain.search(text))

    def spans(self, text: str, names: Collection[str] | None = None) -> dict[str, Spans]:
        """Name -> where the pattern occurs, for the patterns that do, or the named of them.

        Places are (start, end) in characters, and do not overlap.
        """
        names = self.candidates(text) if names is None else names
        data = None if self._literal or not names else _encoded(text)
        found = {name: self._patterns[name].spans(text, data) for name in names}

        return {name: spans for name, spans in found.items() if spans}


class _Pattern:
    """One expression, as `re` and as RE2 read it. Raises `ValueError` where they differ."""

    def __init__(self, name: str, pattern: str, *, open_repeats: bool) -> None:
        refused = _refusal(pattern)
        if refused is not None:
            raise ValueError(f"{name}: {pattern!r}{refused}")

        self.plain = re.compile(pattern, re.ASCII)
        self._in_re2 = _as_re2(pattern)
        self.loosened = _loosened(self._in_re2) if open_repeats else self._in_re2
        self.is_loose = self.loosened != self._in_re2

        try:
            re2.compile(self._in_re2, _options())
        except re2.error as error:
            raise ValueError(
                f"{name}: {pattern!r} needs what one pass cannot do (look-around, "
                f"back-references): {error}"
            ) from error

    @cached_property
    def _compiled(self) -> Any:
        return re2.compile(self._in_re2, _options())

    def occurs(self, data: bytes) -> bool:
        """Whether it does, where the set knows no better."""
        return not self.is_loose or self._compiled.search(data) is not None

    def spans(self, text: str, data: bytes | None) -> Spans:
        """Where it occurs in a text, whose UTF-8 is `data`; as `re` says where that is None."""
        if data is None:
            return [match.span() for match in self.plain.finditer(text)]

        found = [match.span() for match in self._compiled.finditer(data)]

        return found if len(data) == len(text) else _in_characters(found, data)


def _encoded(text: str) -> bytes:
    """UTF-8 with another character in the place of those that RE2 cannot read, or misreads."""
    return (text if text.isascii() else _UNREADABLE.sub("\ufffd", text)).encode()


def _in_characters(places: Spans, data: bytes) -> Spans:
    """Places in bytes, in order, as places in characters."""
    found = []
    byte = character = 0

    for start, end in places:
        first = character + len(data[byte:start].decode())
        byte, character = end, first + len(data[start:end].decode())
        found.append((first, character))

    return found


def _options() -> "re2.Options":
    options = re2.Options()
    options.max_mem = MEMORY_BYTES
    options.log_errors = False

    return options


def _refusal(pattern: str) -> str | None:
    """Why RE2 would read an expression otherwise than `re`, None where it would not."""
    tokens = list(_tokens(pattern))
    if any(inside and token in (r"\S", "[") for token, inside in tokens):
        return r": \S or [ within brackets means something else to RE2; write it out, or escape it"

    if _OPEN_RANGE.search(pattern):
        return ": write {0,n}, for RE2 takes {,n} literally"

    try:
        found = re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        return f" is no regular expression: {error}"

    if found.search("") is not None:
        return " matches the empty text, and so every text"

    if found.flags & re.IGNORECASE and not pattern.isascii():
        return " ignores case beyond ASCII, which RE2 and re do differently"

    if found.flags & re.VERBOSE:
        return ": RE2 knows no (?x)"

    if not found.flags & re.MULTILINE and ("$", False) in tokens:
        return r": $ stands before a last line break in re and not in RE2; write \Z, or (?m)"

    return None


def _as_re2(pattern: str) -> str:
    """The same expression in RE2's spelling: `\\s` with the vertical tab, `\\Z` as `\\z`."""
    spelled = {r"\s": f"[{_WHITE}]", r"\S": f"[^{_WHITE}]", r"\Z": r"\z"}
    return "".join(
        _WHITE if inside and token == r"\s" else spelled.get(token, token)
        for token, inside in _tokens(pattern)
    )


def _loosened(pattern: str) -> str:
    """The expression with long counted repeats left open.

    It matches more, and its automaton need not count.
    """

    def opened(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]

        least, comma, most = int(match[2]), match[3], match[4]
        counts = least > _COUNTED or (comma and most and int(most) > _COUNTED)

        return f"{{{min(least, _COUNTED)},}}" if counts else match[0]

    return _REPEAT.sub(opened, pattern)


def _tokens(pattern: str) -> Iterator[tuple[str, bool]]:
    """Characters and escapes of an expression, each with whether it stands inside brackets."""
    inside, began = False, 0

    for match in re.finditer(r"\\.|.", pattern, re.DOTALL):
        token = match[0]
        inside = inside and not (token == "]" and match.start() > began)
        yield token, inside

        if not inside and token == "[":
            inside = True
            began = match.end() + (pattern[match.end() : match.end() + 1] == "^")
