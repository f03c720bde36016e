"""Many regular expressions searched in one pass over a text (RE2's set), with the hits that `re`
finds, one pattern at a time.

Where a pattern occurs is asked of RE2 too: in time that grows with the text alone, whatever stands
in it.

The reference is `re.compile(pattern, re.ASCII)`: `\\w`, `\\d`, `\\s` and `\\b` speak of ASCII. RE2
has no look-around, no back-references.
"""

import re
from collections.abc import Collection, Iterator, Mapping
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


class PatternSet:
    """`patterns`: name -> expression, with flags in front, such as `(?i)`.

    Raises `ValueError`, naming the pattern, for what RE2 cannot search as `re` does: look-around,
    back-references, `$` without `(?m)`
    (say `\\Z`), characters beyond ASCII where case is ignored, and what matches the empty text.
    With `open_repeats` the one pass counts no long repeats, and what it finds is looked at again:
    for hundreds of patterns.
    """

    def __init__(self, patterns: Mapping[str, str], *, open_repeats: bool = False) -> None:
        self.names = tuple(patterns)
        self._at = {name: at for at, name in enumerate(self.names)}
        self._plain = tuple(_compiled(name, pattern) for name, pattern in patterns.items())
        self._set = re2.Set.SearchSet(_options())
        self._linear: dict[int, Any] = {}
        for name, pattern in patterns.items():
            try:
                re2.compile(_as_re2(pattern), _options())
                self._set.Add(_loosened(_as_re2(pattern)) if open_repeats else _as_re2(pattern))
            except re2.error as error:
                raise ValueError(
                    f"{name}: {pattern!r} needs what one pass cannot do (look-around, "
                    f"back-references): {error}"
                ) from error
        self._set.Add(_END)
        try:
            self._set.Compile()
        except re2.error as error:
            raise ValueError(
                f"{len(patterns)} patterns are too large for one pass: {', '.join(self.names)}"[
                    :300
                ]
            ) from error
        self._loose = tuple(
            open_repeats and _loosened(pattern) != pattern for pattern in patterns.values()
        )
        self._literal = any(
            _UNREADABLE.search(pattern) or "\ufffd" in pattern for pattern in patterns.values()
        )

    def hits(self, text: str) -> tuple[str, ...]:
        """Names of the patterns that occur in a text, in the order they were given in."""
        found = self._found(text)
        if self._literal or not any(self._loose[at] for at in found):
            return tuple(self.names[at] for at in found)
        data = _encoded(text)
        return tuple(
            self.names[at] for at in found if not self._loose[at] or self._compiled(at).search(data)
        )

    def candidates(self, text: str) -> tuple[str, ...]:
        """Names of all patterns that occur in a text, and of some that only begin as they should:
        enough to tell what to look at.
        """
        return tuple(self.names[at] for at in self._found(text))

    def spans(
        self, text: str, names: Collection[str] | None = None
    ) -> dict[str, list[tuple[int, int]]]:
        """Name -> where the pattern occurs (start, end; in characters, not overlapping), for the
        patterns that do, or the named of them.
        """
        at_all = self._found(text) if names is None else [self._at[name] for name in names]
        if not at_all:
            return {}
        if self._literal:
            places = (
                (at, [match.span() for match in self._plain[at].finditer(text)]) for at in at_all
            )
        else:
            data = _encoded(text)
            places = ((at, self._places(at, data, ascii=len(data) == len(text))) for at in at_all)
        return {self.names[at]: found for at, found in places if found}

    def _places(self, at: int, data: bytes, *, ascii: bool) -> list[tuple[int, int]]:
        found = [match.span() for match in self._compiled(at).finditer(data)]
        return found if ascii else _in_characters(found, data)

    def _compiled(self, at: int) -> Any:
        if at not in self._linear:
            self._linear[at] = re2.compile(_as_re2(self._plain[at].pattern), _options())
        return self._linear[at]

    def _found(self, text: str) -> list[int]:
        if self._literal:
            return self._one_by_one(text)
        found = sorted(self._set.Match(_encoded(text)) or ())
        return found[:-1] if found and found[-1] == len(self.names) else self._one_by_one(text)

    def _one_by_one(self, text: str) -> list[int]:
        return [at for at, pattern in enumerate(self._plain) if pattern.search(text)]


def _encoded(text: str) -> bytes:
    """UTF-8 with another character in the place of those that RE2 cannot read, or reads as letters
    where case is ignored.
    """
    return (text if text.isascii() else _UNREADABLE.sub("\ufffd", text)).encode()


def _in_characters(places: list[tuple[int, int]], data: bytes) -> list[tuple[int, int]]:
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


def _compiled(name: str, pattern: str) -> re.Pattern[str]:
    if any(inside and token in (r"\S", "[") for token, inside in _tokens(pattern)):
        raise ValueError(
            f"{name}: {pattern!r}: \\S or [ within brackets means something else to RE2; write it "
            "out, or escape it"
        )
    if _OPEN_RANGE.search(pattern):
        raise ValueError(f"{name}: {pattern!r}: write {{0,n}}, for RE2 takes {{,n}} literally")
    try:
        found = re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{name}: {pattern!r} is no regular expression: {error}") from error
    if found.search("") is not None:
        raise ValueError(f"{name}: {pattern!r} matches the empty text, and so every text")
    if found.flags & re.IGNORECASE and not pattern.isascii():
        raise ValueError(
            f"{name}: {pattern!r} ignores case beyond ASCII, which RE2 and re do differently"
        )
    if found.flags & re.VERBOSE:
        raise ValueError(f"{name}: RE2 knows no (?x)")
    if not found.flags & re.MULTILINE and any(
        token == "$" for token, inside in _tokens(pattern) if not inside
    ):
        raise ValueError(
            f"{name}: {pattern!r}: $ stands before a last line break in re and not in RE2; write "
            "\\Z, or (?m)"
        )
    return found


def _as_re2(pattern: str) -> str:
    """The same expression in RE2's spelling: `\\s` with the vertical tab, `\\Z` as `\\z`."""
    found = []
    for token, inside in _tokens(pattern):
        if token == r"\s":
            found.append(_WHITE if inside else f"[{_WHITE}]")
        elif token == r"\S":
            found.append(f"[^{_WHITE}]")
        else:
            found.append(r"\z" if token == r"\Z" else token)
    return "".join(found)


def _loosened(pattern: str) -> str:
    """The expression with long counted repeats left open: it matches more, and its automaton need
    not count.
    """

    def opened(match: re.Match[str]) -> str:
        if match.group(1):
            return match.group(1)
        least, comma, most = int(match.group(2)), match.group(3), match.group(4)
        counts = least > _COUNTED or (comma and most and int(most) > _COUNTED)
        return f"{{{min(least, _COUNTED)},}}" if counts else match.group()

    return _REPEAT.sub(opened, pattern)


def _tokens(pattern: str) -> Iterator[tuple[str, bool]]:
    """Characters and escapes of an expression, each with whether it stands inside brackets."""
    inside, began = False, 0
    for match in re.finditer(r"\\.|.", pattern, re.DOTALL):
        token = match.group()
        if inside and token == "]" and match.start() > began:
            inside = False
            yield token, False
        else:
            yield token, inside
        if not inside and token == "[":
            inside = True
            began = match.end() + (pattern[match.end() : match.end() + 1] == "^")
