"""Secrets and personal data in one text: one pass of RE2's set per reading of it, tests only on
what was hit.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

import msgspec

from synth.schemas.errors import ConfigError
from synth.text.pattern_set import PatternSet
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
    return sorted({rule.kind for rule in rules()})


Searches = tuple[Mapping[str, Rule], Sequence[PatternSet]]


@lru_cache(16)
def _searches(
    find: tuple[str, ...], ignore: tuple[str, ...], patterns: tuple[tuple[str, str], ...]
) -> Searches:
    """Rules by name, and the automata: these take a third of a second to build, and are shared.

    Raises `ValueError` for a pattern that RE2 cannot search.
    """
    chosen = [
        rule
        for rule in rules()
        if (rule.kind in find or (rule.group in find and rule.kind not in UNASKED))
        and not {rule.kind, rule.group} & set(ignore)
    ]
    chosen += [Rule(pattern, kind) for kind, pattern in patterns]
    named = {f"{rule.kind}#{at}": rule for at, rule in enumerate(chosen)}
    sweeps: dict[str, dict[str, str]] = {"issued": {}, "runs": {_BLOB: r"[A-Za-z0-9+/_-]{20,}"}}
    for name, rule in named.items():
        sweeps.setdefault(rule.sweep, {})[name] = rule.pattern
    return named, [
        PatternSet(searched, open_repeats=sweep != "runs")
        for sweep, searched in sweeps.items()
        if searched
    ]


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
            self._rules, self._sets = _searches(
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
            rule = self._rules[name]
            for match in places:
                for start, end in _values(rule, layer.text, *match):
                    value = layer.text[start:end]
                    if not self._allowed.hits(value):
                        yield Span(*layer.origin(start, end), rule.kind, value)


def _values(rule: Rule, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where values stand in what a pattern matched, as far as they pass the rule's test."""
    if rule.reader is not None:
        yield from rule.reader(text, start, end)
        return
    parts = [(start, end)]
    if rule.value is not None:
        inner = _inner(rule.value).finditer(text[start : end + rule.reach])
        parts = [(start + at, start + to) for at, to in (m.span(m.lastindex or 0) for m in inner)]
    for first, last in parts:
        if last - first <= 200 and _BLANK.search(text, first, last):
            continue
        if (rule.valid is None or rule.valid(text[first:last])) and not (
            rule.alone and _touched(text, first, last)
        ):
            yield first, last


@cache
def _inner(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern, re.ASCII)


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
