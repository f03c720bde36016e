"""A check is data, never code: predicates over the world's facts, facts to be told, refusals; and
what evaluating it gave.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.schemas.canonical import StrictRecord
from synth.schemas.errors import ConfigError

Scalar = str | int | float | bool | None
Facts = Mapping[str, Scalar]
"""Logical state: path -> scalar. A path is `table/key/column`."""


class RowPredicate(StrictRecord, frozen=True):
    """Exactly `count` rows of `table` have all the column values of `where` (column "id" is the
    row's key).
    """

    table: str
    where: Mapping[str, Scalar]
    count: int = 1


class Require(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """At the end the fact `key` of a `ToolEnv` is `value`; `doors.red` is `red` within `doors`.
    None holds too where the fact is not there, as of an entry that was deleted with
    all that it held.
    """

    key: str
    value: Scalar

    def __post_init__(self) -> None:
        """Raises `ConfigError` for a value that holds others."""
        if isinstance(self.value, dict | list | tuple):
            kind = type(self.value).__name__
            raise ConfigError(
                f"Require({self.key!r}): the value is a {kind}; require what is in it one by one, "
                f"as `{self.key}.NAME`"
            )

    def predicate(self) -> RowPredicate:
        """As a predicate: such facts are columns of the row `now` of the table `state`."""
        return RowPredicate("state", {self.key: self.value})


class Tell(StrictRecord, frozen=True):
    """A value that the agent must tell the user after having observed it; `type` is money, date,
    id, status, number or enum.
    """

    type: str
    value: Scalar
    about: str = ""


class Refusal(StrictRecord, frozen=True):
    """A request that must be denied for a rule, after the evidence was looked up (`evidence` =
    entity that must have been read).
    """

    request: str
    rule: str
    evidence: str | None = None


class Check(StrictRecord, frozen=True):
    """Three zones of the state, and what must be said.

    `required` predicates hold at the end; `free` path patterns may change (`*` stands for one
    segment); every other
    change that no required row covers breaks `protected`. `process` names the rules whose order
    constraints are checked.
    """

    required: tuple[RowPredicate, ...] = ()
    free: tuple[str, ...] = ()
    protected: tuple[str, ...] = ("*/*/*",)
    told: tuple[Tell, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    process: tuple[str, ...] = ()


class SubVerdict(StrictRecord, frozen=True):
    """One part of a check (state, told, refusals, ...): passed, failed or undefined (None), and
    why.

    `score` is the share of what the part asks for that holds, 1 where it passed; None where the
    world gives no shares.
    """

    name: str
    passed: bool | None
    evidence: tuple[str, ...] = ()
    score: float | None = None


class CheckResult(StrictRecord, frozen=True):
    """What the world's own check said: passed, failed, or undefined (None) where it could not
    decide, which is no label; `facts` = paths that changed since the start, with their final value
    (None = gone).

    `version` is the check's, so that a corrected one can be told from the one that gave this
    verdict.
    """

    passed: bool | None
    parts: tuple[SubVerdict, ...] = ()
    facts: Mapping[str, Any] = msgspec.field(default_factory=dict)
    version: str = ""


def verdict_of(parts: Sequence[SubVerdict]) -> bool | None:
    """Failed as soon as one part failed, undefined as soon as one of the others is, else passed."""
    verdicts = [part.passed for part in parts]

    return False if False in verdicts else None if None in verdicts else True
