"""Many regular expressions searched in one pass over a text (RE2's set), with the hits that `re` finds, one pattern at a time.

The reference is `re.compile(pattern, re.ASCII)`: `\\w`, `\\d`, `\\s` and `\\b` speak of ASCII. RE2 has no look-around, no back-references.
"""

import re
from collections.abc import Iterator, Mapping

import re2

MEMORY_BYTES = 1 << 26
"""That the set's automaton may grow to; there RE2 drops it and begins it anew."""
_END = r"\z"
"""Occurs in every text: where RE2 does not report it, its automaton did not fit, and nothing it says counts."""
_FOLDED_BEYOND_ASCII = re.compile("[\u017f\u212a]")
"""Long s and the Kelvin sign: RE2 takes them for s and k where case is ignored, `re.ASCII` does not."""
_OPEN_RANGE = re.compile(r"\{,\d+\}")
_WHITE = r"\t-\r "


class PatternSet:
    """`patterns`: name -> expression, with flags in front, such as `(?i)`.

    Raises `ValueError`, naming the pattern, for what RE2 cannot search as `re` does: look-around, back-references, `$` without `(?m)`
    (say `\\Z`), characters beyond ASCII where case is ignored, and what matches the empty text.
    """

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self.names = tuple(patterns)
        self._plain = tuple(_compiled(name, pattern) for name, pattern in patterns.items())
        self._set = re2.Set.SearchSet(_options())
        for name, pattern in patterns.items():
            try:
                self._set.Add(_as_re2(pattern))
            except re2.error as error:
                raise ValueError(f"{name}: {pattern!r} needs what one pass cannot do (look-around, back-references): {error}") from error
        self._set.Add(_END)
        try:
            self._set.Compile()
        except re2.error as error:
            raise ValueError(f"{len(patterns)} patterns are too large for one pass: {', '.join(self.names)}"[:300]) from error
        self._folds = any(pattern.flags & re.IGNORECASE for pattern in self._plain)

    def hits(self, text: str) -> tuple[str, ...]:
        """Names of the patterns that occur in a text, in the order they were given in."""
        return tuple(self.names[at] for at in self._found(text))

    def spans(self, text: str) -> dict[str, list[tuple[int, int]]]:
        """Name -> where the pattern occurs (start, end; in characters, not overlapping), for the patterns that do."""
        return {self.names[at]: [match.span() for match in self._plain[at].finditer(text)] for at in self._found(text)}

    def _found(self, text: str) -> list[int]:
        if not text.isascii() and self._folds and _FOLDED_BEYOND_ASCII.search(text):
            return self._one_by_one(text)
        try:
            found = sorted(self._set.Match(text.encode()) or ())
        except UnicodeEncodeError:  # a lone surrogate
            return self._one_by_one(text)
        return found[:-1] if found and found[-1] == len(self.names) else self._one_by_one(text)

    def _one_by_one(self, text: str) -> list[int]:
        return [at for at, pattern in enumerate(self._plain) if pattern.search(text)]


def _options() -> "re2.Options":
    options = re2.Options()
    options.max_mem = MEMORY_BYTES
    options.log_errors = False
    return options


def _compiled(name: str, pattern: str) -> re.Pattern[str]:
    if any(inside and token in (r"\S", "[") for token, inside in _tokens(pattern)):
        raise ValueError(f"{name}: {pattern!r}: \\S or [ within brackets means something else to RE2; write it out, or escape it")
    if _OPEN_RANGE.search(pattern):
        raise ValueError(f"{name}: {pattern!r}: write {{0,n}}, for RE2 takes {{,n}} literally")
    try:
        found = re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{name}: {pattern!r} is no regular expression: {error}") from error
    if found.search("") is not None:
        raise ValueError(f"{name}: {pattern!r} matches the empty text, and so every text")
    if found.flags & re.IGNORECASE and not pattern.isascii():
        raise ValueError(f"{name}: {pattern!r} ignores case beyond ASCII, which RE2 and re do differently")
    if found.flags & re.VERBOSE:
        raise ValueError(f"{name}: RE2 knows no (?x)")
    if not found.flags & re.MULTILINE and any(token == "$" for token, inside in _tokens(pattern) if not inside):
        raise ValueError(f"{name}: {pattern!r}: $ stands before a last line break in re and not in RE2; write \\Z, or (?m)")
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
