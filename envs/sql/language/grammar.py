"""The forms of questions, changes and conditions that data/grammar.yaml lists."""

from collections.abc import Mapping
from functools import cached_property

import msgspec

from synth.text.data_files import read


class RequestForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A form of the file, which says what its fields mean."""

    says: str
    select: str = ""
    after: str = ""
    there: str = ""
    draws: dict[str, str] = {}
    filled: bool = False
    sql: str = ""


class Grammar(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """All of the file."""

    kinds: dict[str, tuple[str, ...]]
    questions: dict[str, RequestForm]
    changes: dict[str, RequestForm]
    conditions: dict[str, RequestForm]
    figures: str

    @cached_property
    def requests(self) -> Mapping[str, RequestForm]:
        """The forms of questions, then those of changes."""
        return {**self.questions, **self.changes}


def grammar() -> Grammar:
    """The forms, read once."""
    found: Grammar = read("envs/sql/data/grammar.yaml", Grammar)
    return found
