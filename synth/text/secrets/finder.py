"""Secrets and personal data in one text.

RE2 tells in one pass over each reading of the text which rules may apply; only these are looked at.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

import msgspec
from msgspec.structs import replace

from synth.schemas import ConfigError
from synth.text.layers import Layer, blobs, layers
from synth.text.pattern_set import PatternSet
from synth.text.secrets.rules import CREDENTIAL, UNASKED, Rule, rules

GROUPS = ("secrets", "personal")
_BLOB = "base64"


class Span(msgspec.Struct, frozen=True, order=True):
    """Where a finding stands in a text (characters), its kind, and what it says without escapes."""

    start: int
    end: int
    kind: str
    value: str


Searches = tuple[Mapping[str, Rule], Sequence[PatternSet]]


def kinds() -> list[str]:
    """Every kind that is known, in order of the alphabet."""
    return sorted({rule.kind for rule in rules()})


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
    chosen += [Rule(pattern, kind, sweep="issued") for kind, pattern in patterns]
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
    """Finds kinds of secrets and personal data.

    `find`: groups and kinds; `ignore`: kinds; `allow`: expressions whose matches are no findings;
    `patterns`: kinds of one's own. Raises `ConfigError` for names that are not known and for
    patterns that RE2 cannot search.
    """

    def __init__(
        self,
        find: Sequence[str] = GROUPS,
        ignore: Sequence[str] = (),
        allow: Sequence[str] = (),
        patterns: Mapping[str, str] | None = None,
    ) -> None:
        known = [*GROUPS, *kinds()]
        for name in sorted({*find, *ignore} - set(known)):
            raise ConfigError(
                f"{name!r} is no kind of secret or personal data; known: {', '.join(known)}"
            )

        own = tuple((patterns or {}).items())

        try:
            self._allowed = PatternSet({f"allow[{at}]": one for at, one in enumerate(allow)})
            self._rules, self._sets = _searches(tuple(find), tuple(ignore), own)
        except ValueError as error:
            raise ConfigError(str(error)) from error

    def found(self, text: str) -> list[Span]:
        """What stands in a text, in order, not overlapping.

        Findings that overlap are one, of the kind of the first and longest; a kind that says more
        than `credential` counts where it covers nearly the same.
        """
        readings = list(layers(text))
        spans = sorted(
            self._in_layers(readings),
            key=lambda span: (span.start, span.kind == CREDENTIAL, -span.end),
        )
        begins = readings[-1].places[0] if spans else ()
        merged: list[Span] = []

        for span in spans:
            # moved on to where no escape is cut: the n of a line break is no letter of what follows
            start, end = (begins[bisect_left(begins, at)] for at in (span.start, span.end))
            span = replace(span, start=start, end=end)
            last = merged[-1] if merged else None

            if last is None or start >= last.end:
                merged.append(span)
            elif (
                last.kind == CREDENTIAL != span.kind
                and end == last.end
                and 5 * (end - start) >= 4 * (last.end - last.start)
            ):
                merged[-1] = span
            elif end > last.end:
                merged[-1] = replace(last, end=end)

        return merged

    def _in_layers(self, readings: Sequence[Layer], *, decode: bool = True) -> Iterator[Span]:
        """What the rules find in each reading, and in base64 that decodes to text."""
        for layer in readings:
            for searched in self._sets:
                hits = searched.candidates(layer.text)
                names = [name for name in hits if name != _BLOB]
                if names:
                    yield from self._of_rules(searched, names, layer)

                if not decode or len(names) == len(hits):
                    continue

                # all of the base64 that holds a finding; what is encoded twice is not looked at
                for start, end, plain in blobs(layer):
                    inside = self._in_layers(list(layers(plain)), decode=False)
                    for hidden in islice(inside, 1):
                        yield Span(start, end, hidden.kind, hidden.value)

    def _of_rules(self, searched: PatternSet, names: Sequence[str], layer: Layer) -> Iterator[Span]:
        """What some rules find in one reading, by its place in the text."""
        for name, matches in searched.spans(layer.text, names).items():
            rule = self._rules[name]
            for match in matches:
                for start, end in rule.values(layer.text, *match):
                    value = layer.text[start:end]
                    if not self._allowed.hits(value):
                        yield Span(*layer.origin(start, end), rule.kind, value)
