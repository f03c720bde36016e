"""Secrets and personal data in one text: one pass of RE2's set per reading of it, tests only on what was hit."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from schemas.errors import ConfigError
from synth.scan.pattern_set import PatternSet
from synth.scan.rules import UNASKED, Rule, rules
from synth.scan.unescaped import Layer, blobs, layers

GROUPS = ("secrets", "personal")
_BLOB = "base64"


class Span(msgspec.Struct, frozen=True, order=True):
    """Where a finding stands in a text as it is (characters), its kind, and what it says without escapes."""

    start: int
    end: int
    kind: str
    value: str


def kinds() -> list[str]:
    """Every kind that is known, in order of the alphabet."""
    return sorted({rule.kind for rule in rules()})


class Finder:
    """`find`: groups and kinds; `ignore`: kinds; `allow`: expressions whose matches are no findings; `patterns`: kinds of one's own.

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
            raise ConfigError(f"{unknown[0]!r} is no kind of secret or personal data; known: {', '.join([*GROUPS, *kinds()])}")
        chosen = [rule for rule in rules() if rule.kind in find or (rule.group in find and rule.kind not in UNASKED)]
        chosen = [rule for rule in chosen if rule.kind not in ignore and rule.group not in ignore]
        chosen += [Rule(kind, "secrets", pattern) for kind, pattern in (patterns or {}).items()]
        self._rules = {f"{rule.kind}#{at}": rule for at, rule in enumerate(chosen)}
        self._inner = {name: re.compile(rule.value, re.ASCII) for name, rule in self._rules.items() if rule.value is not None}
        try:
            self._allowed = PatternSet({f"allow[{at}]": pattern for at, pattern in enumerate(allow)})
            self._set = PatternSet({**{name: rule.pattern for name, rule in self._rules.items()}, _BLOB: r"[A-Za-z0-9+/_-]{20,}"})
        except ValueError as error:
            raise ConfigError(str(error)) from error

    def found(self, text: str) -> list[Span]:
        """What stands in a text, in order, not overlapping; of findings that overlap, the kind of the first and longest."""
        readings = list(layers(text))
        spans = sorted(self._all(readings, inner=False), key=lambda span: (span.start, -span.end))
        merged: list[Span] = []
        for span in (_whole(span, readings[-1]) for span in spans):
            if merged and span.start < merged[-1].end:
                last = merged[-1]
                merged[-1] = msgspec.structs.replace(last, end=max(last.end, span.end))
            else:
                merged.append(span)
        return merged

    def _all(self, readings: Sequence[Layer], *, inner: bool) -> Iterator[Span]:
        for layer in readings:
            hits = self._set.hits(layer.text)
            if not hits:
                continue
            if hits != (_BLOB,):
                yield from self._of(layer)
            if _BLOB in hits and not inner:
                for start, end, plain in blobs(layer):
                    hidden = next(self._all(list(layers(plain)), inner=True), None)
                    if hidden is not None:
                        yield Span(start, end, hidden.kind, hidden.value)

    def _of(self, layer: Layer) -> Iterator[Span]:
        for name, places in self._set.spans(layer.text).items():
            if name == _BLOB:
                continue
            rule = self._rules[name]
            for start, end in places:
                if name in self._inner:
                    part = self._inner[name].search(layer.text[start:end])
                    if part is None:
                        continue
                    start, end = start + part.start(), start + part.end()
                value = layer.text[start:end]
                if (rule.valid is None or rule.valid(value)) and not self._allowed.hits(value):
                    yield Span(*layer.origin(start, end), rule.kind, value)


def _whole(span: Span, deepest: Layer) -> Span:
    """Moved forward to where no escape is cut in two: the n of a line break is no letter of what follows it."""
    if deepest.origins is None:
        return span
    start, end = (deepest.origins[bisect_left(deepest.origins, at)] for at in (span.start, span.end))
    return msgspec.structs.replace(span, start=start, end=end)
