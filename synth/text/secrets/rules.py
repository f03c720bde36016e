"""What is looked for: kinds of secrets and of personal data, each by a pattern and a test.

The rules stand in the files of `data`. Tokens of some services are those of detect-secrets
(Apache-2.0) where its pattern is the token itself.
"""

import re
from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module
from typing import Literal

import msgspec

from synth.text.secrets import labelled, made, tables, unnamed
from synth.text.secrets.checks import Test
from synth.text.secrets.judges import judge
from synth.text.secrets.spans import Reader
from synth.text.secrets.words import filled, read

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
    def valid(self) -> Test | None:
        return None if self.test is None else judge(self.test)

    @property
    def reader(self) -> Reader | None:
        if self.form is not None:
            return partial(labelled.values, self.form, self.name)
        return None if self.read is None else _READERS[self.read]


class _RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of rules; `parts` of patterns stand in these as `<NAME>`."""

    rules: tuple[Rule, ...]
    parts: dict[str, str] = {}
    sweep: str = "issued"


@cache
def rules() -> tuple[Rule, ...]:
    """All of them; imports detect-secrets. Raises `ValueError` for tests that do not exist."""
    found = []
    for kind, said in read("detect_secrets.yaml", dict[str, tuple[str, str, int]]).items():
        module, name, count = said
        plugin = getattr(import_module(f"detect_secrets.plugins.{module}"), name)
        for pattern in list(plugin.denylist)[:count]:
            whole = _LARGE.sub(r"{\1,}", pattern.pattern.replace(r"(?!\w)", ""))
            flag = "(?i)" if kind == "slack_token" else ""
            found.append(Rule(rf"{flag}(?:{whole})[A-Za-z0-9_-]*", kind, sweep="issued"))

    for name in _FILES:
        file = read(f"{name}.yaml", _RuleFile)
        for rule in file.rules:
            values = (rule.value,) if isinstance(rule.value, str) else rule.value
            rule = msgspec.structs.replace(
                rule,
                pattern=filled(rule.pattern, file.parts),
                name=filled(rule.name, file.parts),
                value=tuple(filled(value, file.parts) for value in values),
                needs=filled(rule.needs, file.parts),
                sweep=rule.sweep or file.sweep,
            )
            _ = rule.valid, rule.reader
            found.append(rule)
    return tuple(found)
