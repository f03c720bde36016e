"""Continuations that test an act, looked through as the flow's filter `secrets` would: they are no trials, so it never saw them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from schemas.task import Task
from schemas.trajectory import Trajectory
from schemas.verdict import Verdict
from synth.ledger.ledger import Ledger
from synth.scan.finder import Finder
from synth.scan.redaction import REDACTED, Scan, redacted

SECRETS = "secrets"


class LookedThrough:
    """With the settings that the filter had in the current flow; `known` is False where the ledger does not tell them."""

    def __init__(self, ledger: Ledger) -> None:
        lines = [line.settings[SECRETS] for line in ledger.state.stages.values() if "find" in (line.settings.get(SECRETS) or ())]
        settings: Mapping[str, Any] | None = lines[-1] if lines else None
        self._drops = settings is not None and settings["action"] == "drop"
        self._scan = (
            None
            if settings is None
            else Scan(Finder(tuple(settings["find"]), tuple(settings["ignore"]), tuple(settings["allow"]), dict(settings["patterns"])))
        )

    @property
    def known(self) -> bool:
        return self._scan is not None

    def verdict(self, trajectory: Trajectory, task: Task | None) -> tuple[Trajectory, Verdict]:
        """The trajectory without what was found, and what the filter would have said."""
        assert self._scan is not None
        found = self._scan.findings(trajectory, task.goal if task is not None else "")
        if not found:
            return trajectory, Verdict(True, "clean", 0.0)
        if self._drops:
            return trajectory, Verdict(False, found[0].kind, float(len(found)))
        return redacted(trajectory, found), Verdict(True, REDACTED, float(len(found)), {"findings": msgspec.to_builtins(found)})
