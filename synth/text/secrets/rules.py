"""What is looked for: kinds of secrets and of personal data, each by a pattern that RE2 can search
and a test of what it found.

The patterns stand in the files of `data`. Tokens of some services are those of detect-secrets
(Apache-2.0) where its pattern is the token itself.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Literal

import msgspec

from synth.text.secrets import commands, labelled, made, spoken, tables
from synth.text.secrets.judges import judge
from synth.text.secrets.values import read

CREDENTIAL = "credential"
"""The kind of what only its name, or a sentence about it, makes a secret (contexts.yaml)."""
UNASKED = frozenset({"ip_address"})
"""Looked for only where it is named: version numbers look the same."""
_READERS: Mapping[str, labelled.Reader] = {
    name: reader
    for module in (commands, labelled, made, spoken, tables)
    for name, reader in module.READERS.items()
}


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind, its group, a pattern, the part of a match that is the value (None = all of it), and
    whether the value counts.

    A value that must stand `alone` touches no letter and no digit, not even across a point or a
    hyphen. Where a match only announces values, `read` names what finds them; `reach` is how many
    characters behind the match `value` is searched in, too.
    """

    pattern: str
    kind: str = CREDENTIAL
    group: Literal["secrets", "personal"] = "secrets"
    value: str | None = None
    test: str | None = None
    alone: bool = False
    read: str | None = None
    reach: int = 0
    sweep: str = "issued"
    """Patterns of one sweep are searched in one pass; all in one pass would have too many states.
    `runs` counts repeats.
    """

    @property
    def valid(self) -> Callable[[str], bool] | None:
        return None if self.test is None else judge(self.test)

    @property
    def reader(self) -> labelled.Reader | None:
        return None if self.read is None else _READERS[self.read]


class _Contexts(msgspec.Struct, frozen=True):
    """contexts.yaml, which says what it holds."""

    parts: dict[str, str]
    rules: tuple[Rule, ...]


_LARGE = re.compile(r"\{(\d+),\d{4,}\}")
"""More than 1,000 of something is too many for RE2; what follows the pattern takes in the rest
anyway.
"""


@cache
def rules() -> tuple[Rule, ...]:
    """All of them; imports detect-secrets. Raises `ValueError` where a file names a test that there
    is not.
    """
    found = []
    for kind, said in read("detect_secrets.yaml", dict[str, tuple[str, str, int]]).items():
        module, name, count = said
        patterns = getattr(import_module(f"detect_secrets.plugins.{module}"), name).denylist
        for pattern in list(patterns)[:count]:
            whole = _LARGE.sub(r"{\1,}", pattern.pattern.replace(r"(?!\w)", ""))
            flag = "(?i)" if kind == "slack_token" else ""
            found.append(Rule(rf"{flag}(?:{whole})[A-Za-z0-9_-]*", kind))
    for sweep, file in (("", "secrets"), ("placed", "placed_secrets"), ("told", "told_secrets")):
        for rule in read(f"{file}.yaml", tuple[Rule, ...]):
            found.append(msgspec.structs.replace(rule, sweep=sweep or rule.sweep))
    contexts = read("contexts.yaml", _Contexts)
    parts = {**contexts.parts, "PROGRAMS": commands.PROGRAMS}
    for rule in contexts.rules:
        pattern = re.sub("<([A-Z]+)>", lambda part: parts[part[1]], rule.pattern)
        found.append(msgspec.structs.replace(rule, pattern=pattern))
    for rule in found:
        _ = rule.valid, rule.reader
    return tuple(found)
