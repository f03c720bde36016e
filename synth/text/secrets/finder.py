"""Secrets and personal data in one text: one pass of RE2's set per reading of it, tests only on
what was hit.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from synth.schemas.errors import ConfigError
from synth.text.pattern_set import PatternSet
from synth.text.secrets.forms import FORMS, sweep_of, values
from synth.text.secrets.rules import CREDENTIAL, UNASKED, Rule, rules
from synth.text.secrets.unescaped import Layer, blobs, layers

GROUPS = ("secrets", "personal")
_BLOB = "base64"
_BLANK = re.compile(r"[xX]{8}|[*•]{4}")
"""Stands in the place of a key in documents, after what its issuer begins it with."""
_TOUCH_BEFORE = re.compile(r"[\w#/$€£]\Z|\w[._-]\Z", re.ASCII)
_TOUCH_AFTER = re.compile(r"(?!\.0{1,2}(?![\w.]))(?:\w|[.:_-]\w|%)", re.ASCII)


class Span(msgspec.Struct, frozen=True, order=True):
    """Where a finding stands in a text as it is (characters), its kind, and what it says without
    escapes.
    """

    start: int
    end: int
    kind: str
    value: str


def kinds() -> list[str]:
    """Every kind that is known, in order of the alphabet."""
    return sorted({rule.kind for rule in rules()} | {CREDENTIAL})


Searches = tuple[Mapping[str, Rule], Mapping[str, re.Pattern[str]], Sequence[PatternSet]]


@lru_cache(16)
def _searches(
    find: tuple[str, ...], ignore: tuple[str, ...], patterns: tuple[tuple[str, str], ...]
) -> Searches:
    """Rules by name, what of a hit is the value, and the automata: these take a third of a second
    to build, and are shared.

    Raises `ValueError` for a pattern that RE2 cannot search.
    """
    chosen = [
        rule
        for rule in rules()
        if rule.kind in find or (rule.group in find and rule.kind not in UNASKED)
    ]
    chosen = [rule for rule in chosen if rule.kind not in ignore and rule.group not in ignore]
    chosen += [Rule(kind, pattern) for kind, pattern in patterns]
    named = {f"{rule.kind}#{at}": rule for at, rule in enumerate(chosen)}
    inner = {
        name: re.compile(rule.value, re.ASCII)
        for name, rule in named.items()
        if rule.value is not None
    }
    sweeps: dict[str, dict[str, str]] = {"issued": {}, "runs": {_BLOB: r"[A-Za-z0-9+/_-]{20,}"}}
    for name, rule in named.items():
        sweeps.setdefault(rule.sweep, {})[name] = rule.pattern
    for name, pattern in FORMS.items() if _looked_for(CREDENTIAL, find, ignore) else ():
        sweeps.setdefault(sweep_of(name), {})[name] = pattern
    sets = [
        PatternSet(searched, open_repeats=sweep != "runs")
        for sweep, searched in sweeps.items()
        if searched
    ]
    return named, inner, sets


class Finder:
    """`find`: groups and kinds; `ignore`: kinds; `allow`: expressions whose matches are no
    findings; `patterns`: kinds of one's own.

    Raises `ConfigError` for names that are not known and for patterns that RE2 cannot search.
    """

    def __init__(
        self,
        find: Sequence[str] = GROUPS,
        ignore: Sequence[str] = (),
        allow: Sequence[str] = (),
        patterns: Mapping[str, str] | None = None,
    ) -> None:
        unknown = sorted({*find, *ignore} - {*GROUPS, *kinds()})
        if unknown:
            raise ConfigError(
                f"{unknown[0]!r} is no kind of secret or personal data; known: "
                f"{', '.join([*GROUPS, *kinds()])}"
            )
        try:
            self._allowed = PatternSet(
                {f"allow[{at}]": pattern for at, pattern in enumerate(allow)}
            )
            self._rules, self._inner, self._sets = _searches(
                tuple(find), tuple(ignore), tuple((patterns or {}).items())
            )
        except ValueError as error:
            raise ConfigError(str(error)) from error

    def found(self, text: str) -> list[Span]:
        """What stands in a text, in order, not overlapping; of findings that overlap, the kind of
        the first and longest.
        """
        readings = list(layers(text))
        spans = sorted(
            self._all(readings, inner=False),
            key=lambda span: (span.start, span.kind == CREDENTIAL, -span.end),
        )
        merged: list[Span] = []
        for span in (_whole(span, readings[-1]) for span in spans):
            if merged and span.start < merged[-1].end:
                last = merged[-1]
                named = (
                    last.kind == CREDENTIAL != span.kind
                    and span.end == last.end
                    and 5 * (span.end - span.start) >= 4 * (last.end - last.start)
                )
                merged[-1] = (
                    span if named else msgspec.structs.replace(last, end=max(last.end, span.end))
                )
            else:
                merged.append(span)
        return merged

    def _all(self, readings: Sequence[Layer], *, inner: bool) -> Iterator[Span]:
        for layer in readings:
            blob = False
            for searched in self._sets:
                hits = searched.candidates(layer.text)
                blob = blob or _BLOB in hits
                if hits and hits != (_BLOB,):
                    yield from self._of(searched, layer, [name for name in hits if name != _BLOB])
            if blob and not inner:
                for start, end, plain in blobs(layer):
                    hidden = next(self._all(list(layers(plain)), inner=True), None)
                    if hidden is not None:
                        yield Span(start, end, hidden.kind, hidden.value)

    def _of(self, searched: PatternSet, layer: Layer, names: Sequence[str]) -> Iterator[Span]:
        for name, places in searched.spans(layer.text, names).items():
            for match in places:
                for start, end in self._values(name, layer.text, *match):
                    value = layer.text[start:end]
                    if not self._allowed.hits(value):
                        yield Span(*layer.origin(start, end), self._kind(name), value)

    def _kind(self, name: str) -> str:
        return CREDENTIAL if name in FORMS else self._rules[name].kind

    def _values(self, name: str, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where values stand in what a pattern matched, as far as they pass the rule's test."""
        if name in FORMS:
            yield from values(name, text, start, end)
            return
        rule = self._rules[name]
        inner = self._inner.get(name)
        parts = (
            [(start, end)]
            if inner is None
            else [(start + at, start + to) for at, to in _spans(inner, text[start:end])]
        )
        for first, last in parts:
            if last - first <= 200 and _BLANK.search(text, first, last):
                continue
            if (rule.valid is None or rule.valid(text[first:last])) and not (
                rule.alone and _touched(text, first, last)
            ):
                yield first, last


def _spans(pattern: "re.Pattern[str]", text: str) -> list[tuple[int, int]]:
    return [match.span(match.lastindex or 0) for match in pattern.finditer(text)]


def _looked_for(kind: str, find: Sequence[str], ignore: Sequence[str]) -> bool:
    return ("secrets" in find or kind in find) and kind not in ignore and "secrets" not in ignore


def _touched(text: str, start: int, end: int) -> bool:
    """Whether what stands beside a number makes it a part of something longer: a decimal, an
    identifier, another number.
    """
    before, after = (
        _TOUCH_BEFORE.search(text[max(0, start - 2) : start]),
        _TOUCH_AFTER.match(text[end : end + 5]),
    )
    return before is not None or after is not None


def _whole(span: Span, deepest: Layer) -> Span:
    """Moved forward to where no escape is cut in two: the n of a line break is no letter of what
    follows it.
    """
    if deepest.origins is None:
        return span
    start, end = (
        deepest.origins[bisect_left(deepest.origins, at)] for at in (span.start, span.end)
    )
    return msgspec.structs.replace(span, start=start, end=end)
