"""Continuations that test an act, looked through as the flow's filter `secrets` would: they are no
trials, so it never saw them.
"""

import msgspec

from synth.ledger.flow_scan import SECRETS, FlowScan
from synth.ledger.ledger import Ledger
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.schemas.verdict import Verdict
from synth.text.redaction.findings import REDACTED, redacted
from synth.text.redaction.lawful import require_lawful

__all__ = ["SECRETS", "LookedThrough"]


class LookedThrough:
    """With the settings that the filter had in the current flow; `known` is False where the ledger
    does not tell them.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._flow = FlowScan(ledger)

    @property
    def known(self) -> bool:
        return self._flow.scan is not None

    def verdict(self, trajectory: Trajectory, task: Task | None) -> tuple[Trajectory, Verdict]:
        """The trajectory without what was found, and what the filter would have said. Raises
        `RowError` where it cannot be taken out.
        """
        assert self._flow.scan is not None
        found = self._flow.scan.findings(trajectory, task.goal if task is not None else "")
        if not found:
            return trajectory, Verdict(True, "clean", 0.0)
        if self._flow.drops:
            return trajectory, Verdict(False, found[0].kind, float(len(found)))
        clean = redacted(trajectory, found)
        require_lawful(trajectory, clean)
        return clean, Verdict(
            True, REDACTED, float(len(found)), {"findings": msgspec.to_builtins(found)}
        )
