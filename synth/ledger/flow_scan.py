"""The flow's filter `secrets`, for what no filter is shown: continuations that test an act, tasks
that nobody has tried.
"""

from collections.abc import Mapping
from typing import Any

from synth.ledger.ledger import Ledger
from synth.text.redaction.findings import Scan
from synth.text.secrets.finder import Finder

SECRETS = "secrets"


class FlowScan:
    """With the settings that the filter had in the current flow; `finder` and `scan` are None where
    the ledger does not tell them.
    """

    def __init__(self, ledger: Ledger) -> None:
        lines = [
            line.settings[SECRETS]
            for line in ledger.state.stages.values()
            if "find" in (line.settings.get(SECRETS) or ())
        ]
        settings: Mapping[str, Any] | None = lines[-1] if lines else None
        self.drops = settings is not None and settings.get("action") == "drop"
        self.finder = (
            None
            if settings is None
            else Finder(
                tuple(settings["find"]),
                tuple(settings["ignore"]),
                tuple(settings["allow"]),
                dict(settings["patterns"]),
            )
        )
        self.scan = None if self.finder is None else Scan(self.finder)
