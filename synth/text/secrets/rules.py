"""What is looked for: kinds of secrets and of personal data, each by a pattern and a test.

The rules stand in the files of `data`. Tokens of some services are those of detect-secrets
(Apache-2.0) where its pattern is the token itself.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from typing import Literal

import msgspec
from msgspec.structs import replace

from synth.text.data_files import read
from synth.text.secrets import labelled, made, tables, unnamed
from synth.text.secrets.judges import judge
from synth.text.secrets.spans import Bounds, Reader, end_of_output, end_of_sentence
from synth.text.secrets.words import filled

CREDENTIAL = "credential"
"""The kind of what only its name, or a sentence about it, makes a secret (contexts.yaml)."""
UNASKED = frozenset({"ip_address"})
"""Looked for only where it is named: version numbers look the same."""
_FILES = ("secrets", "placed_secrets", "told_secrets", "contexts", "commands")
_READERS: Mapping[str, Reader] = {
    "table": tables.table,
    "insert": tables.insert,
    "codes": made.codes,
    "seed": made.seed,
    "unnamed": unnamed.unnamed,
}
_BLANK = re.compile(r"[xX]{8}|[*•]{4}")
"""What documents write in the place of a key, after what its issuer begins it with."""
_TOUCHED_BEFORE = re.compile(r"[\w#/$€£]\Z|\w[._-]\Z", re.ASCII)
_TOUCHED_AFTER = re.compile(r"(?!\.0{1,2}(?![\w.]))(?:\w|[.:_-]\w|%)", re.ASCII)
_LARGE = re.compile(r"\{(\d+),\d{4,}\}")
"""More than 1,000 of something is too many for RE2; what follows the pattern takes in the rest."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind, its group, a pattern, where its values stand, and the test that they must pass.

    Values are the matches of `value` (their last group, where they have one) in what the pattern
    matched and `reach` characters behind it; or in the sentence (of `reach` characters) or the
    output that follows it, with `within`. Without `value` the whole match is one. With `first` only
    the first value counts, in the order of the patterns. There is none unless `needs` is found in
    all of this. A value that must stand `alone` touches no letter and no digit, not even across a
    point or a hyphen. Where no pattern finds values, a function does: `read`, or that of a `form`
    in which a `name` and its value are written.
    """

    pattern: str
    kind: str = CREDENTIAL
    group: Literal["secrets", "personal"] = "secrets"
    value: str | tuple[str, ...] = ()
    test: str | None = None
    alone: bool = False
    reach: int = 0
    within: Literal["match", "sentence", "output"] = "match"
    first: bool = False
    needs: str = ""
    form: labelled.Form | None = None
    name: str = ""
    read: str | None = None
    sweep: str = ""
    """Patterns of one sweep are searched in one pass; all in one pass would have too many states.
    `runs` counts repeats.
    """

    @property
    def reader(self) -> Reader | None:
        if self.form is not None:
            return partial(labelled.values, self.form, self.name)

        return None if self.read is None else _READERS[self.read]

    def values(self, text: str, start: int, end: int) -> Iterator[Bounds]:
        """Where values stand that a match of the pattern announces, and that pass the test."""
        if self.reader is not None:
            yield from self.reader(text, start, end)
            return

        begin, stop = self._part(text, start, end)
        is_mark = text.startswith("REDACTED:", start - 9)
        if is_mark or not _compiled(self.needs).search(text[start:stop]):
            return

        test = None if self.test is None else judge(self.test)

        for first, last in self._candidates(text, begin, stop) if self.value else [(start, end)]:
            is_blank = last - first <= 200 and _BLANK.search(text, first, last)
            if is_blank or (self.alone and _is_touched(text, first, last)):
                continue

            if test is None or test(text[first:last]):
                yield first, last
                if self.first:
                    return

    def _part(self, text: str, start: int, end: int) -> Bounds:
        """The part of a text that the values of a match are looked for in."""
        if self.within == "sentence":
            return end - 1, end_of_sentence(text, end, self.reach)

        if self.within == "output":
            return end, end_of_output(text, end)

        return start, end + self.reach

    def _candidates(self, text: str, start: int, end: int) -> Iterator[Bounds]:
        """Where the patterns of the value match in a part of the text."""
        part = text[start:end]
        for pattern in self.value:
            for match in _compiled(pattern).finditer(part):
                first, last = match.span(match.lastindex or 0)
                yield start + first, start + last


@cache
def _compiled(pattern: str) -> "re.Pattern[str]":
    """A pattern of a rule, compiled once."""
    return re.compile(pattern, re.ASCII)


def _is_touched(text: str, start: int, end: int) -> bool:
    """Whether a number is a part of what is longer: a decimal, an identifier, another number."""
    before = _TOUCHED_BEFORE.search(text[max(0, start - 2) : start])
    return before is not None or _TOUCHED_AFTER.match(text[end : end + 5]) is not None


class _RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of rules; `parts` of patterns stand in these as `<NAME>`."""

    rules: tuple[Rule, ...]
    parts: dict[str, str] = {}
    sweep: str = "issued"


def _of_detect_secrets() -> Iterator[Rule]:
    """The tokens of services whose patterns are those of detect-secrets."""
    plugins = read("text/secrets/data/detect_secrets.yaml", dict[str, tuple[str, str, int]])
    for kind, (module, name, count) in plugins.items():
        plugin = getattr(import_module(f"detect_secrets.plugins.{module}"), name)

        for pattern in list(plugin.denylist)[:count]:
            whole = _LARGE.sub(r"{\1,}", pattern.pattern.replace(r"(?!\w)", ""))
            flag = "(?i)" if kind == "slack_token" else ""
            yield Rule(rf"{flag}(?:{whole})[A-Za-z0-9_-]*", kind, sweep="issued")


@cache
def rules() -> tuple[Rule, ...]:
    """All of them; imports detect-secrets. Raises `ValueError` for tests that do not exist."""
    found = list(_of_detect_secrets())

    for name in _FILES:
        file = read(f"text/secrets/data/{name}.yaml", _RuleFile)
        for rule in file.rules:
            values = (rule.value,) if isinstance(rule.value, str) else rule.value
            rule = replace(
                rule,
                pattern=filled(rule.pattern, file.parts),
                name=filled(rule.name, file.parts),
                value=tuple(filled(value, file.parts) for value in values),
                needs=filled(rule.needs, file.parts),
                sweep=rule.sweep or file.sweep,
            )
            _ = rule.test and judge(rule.test), rule.reader
            found.append(rule)

    return tuple(found)
