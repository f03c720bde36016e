"""Secrets and personal data in all that a trajectory holds.

They are taken out of what is exported, or a reason to drop it.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from pydantic import model_validator

from synth.engine.asking import SourceMeans
from synth.schemas import Case, ConfigError, Filter, FilterSettings, Measure, Verdict
from synth.text.redaction.findings import REDACTED, RedactionFinding, Scan, shared_scan
from synth.text.secrets.finder import GROUPS


class SecretsConfig(FilterSettings):
    """`find`: `secrets`, `personal`, or kinds of them; `ignore`: kinds that are none here.

    `allow`: expressions whose matches are none. `patterns`: kinds of your own, name -> expression
    (RE2). `redact` has every export write stand-ins, `drop` leaves the row out.
    """

    action: Literal["redact", "drop"] = "redact"
    find: tuple[str, ...] = GROUPS
    ignore: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    patterns: Mapping[str, str] = {}

    @model_validator(mode="after")
    def _searchable(self) -> "SecretsConfig":
        try:
            self.scan()
        except ConfigError as error:
            raise ValueError(str(error)) from error
        return self

    def scan(self) -> Scan:
        """What looks for it; configurations that are alike share one."""
        return shared_scan(self.find, self.ignore, self.allow, tuple(self.patterns.items()))


class SecretsFound(msgspec.Struct, frozen=True):
    """Where what stands that may not leave."""

    findings: tuple[RedactionFinding, ...]


async def measure(case: Case, config: SecretsConfig, means: SourceMeans) -> Sequence[Measure]:
    """How many findings, and where; what they say is kept nowhere."""
    goal = case.task.goal if case.task is not None else ""
    found = config.scan().findings(case.trajectory, goal)
    return [Measure("secrets", float(len(found)), about=SecretsFound(found))]


async def secrets(case: Case, config: SecretsConfig) -> Verdict:
    """Keep where nothing was found, and where it is taken out.

    With `drop`, drop by the kind that stands first.
    """
    (measured,) = case.measures
    findings = measured.about.findings
    if not findings:
        return Verdict(True, "clean", 0.0)
    keep = config.action == "redact"
    reason = REDACTED if keep else findings[0].kind
    return Verdict(keep, reason, measured.value, msgspec.to_builtins(measured.about))


FILTER = Filter(
    SecretsConfig,
    secrets,
    measure=measure,
    measured=("find", "ignore", "allow", "patterns"),
    version=4,
    about=SecretsFound,
)
