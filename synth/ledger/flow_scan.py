"""The flow's filter `secrets`, for what no filter is shown: continuations that test an act, tasks
that nobody has tried.
"""

from collections.abc import Mapping
from typing import Any

from synth.ledger.ledger import StoredLedger
from synth.schemas import Task, Trajectory, Verdict
from synth.text.redaction.findings import REDACTED, redacted, shared_scan
from synth.text.redaction.lawful import require_lawful

SECRETS = "secrets"


class FlowScan:
    """With the settings that the filter had in the current flow; `finder` and `scan` are None where
    the ledger does not tell them.
    """

    def __init__(self, ledger: StoredLedger) -> None:
        lines = [
            line.settings[SECRETS]
            for line in ledger.state.stages.values()
            if "find" in (line.settings.get(SECRETS) or ())
        ]
        settings: Mapping[str, Any] | None = lines[-1] if lines else None
        self.settings = settings
        self.drops = settings is not None and settings.get("action") == "drop"
        self.scan = (
            None
            if settings is None
            else shared_scan(
                tuple(settings["find"]),
                tuple(settings["ignore"]),
                tuple(settings["allow"]),
                tuple(settings["patterns"].items()),
            )
        )
        self.finder = None if self.scan is None else self.scan.finder

    def verdict(self, trajectory: Trajectory, task: Task | None) -> tuple[Trajectory, Verdict]:
        """The trajectory without what was found, and what the filter would have said; a drop where
        its settings are not known. Raises `RowError` where it cannot be taken out.
        """
        if self.scan is None:
            return trajectory, Verdict(False, "not_looked_for")
        found = self.scan.findings(trajectory, task.goal if task is not None else "")
        if not found:
            return trajectory, Verdict(True, "clean", 0.0)
        if self.drops:
            return trajectory, Verdict(False, found[0].kind, float(len(found)))
        clean = redacted(trajectory, found)
        require_lawful(trajectory, clean)
        return clean, Verdict(True, REDACTED, float(len(found)))
