"""A stage whose work is done elsewhere: what it is stays that of the stage itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth.engine.context import Run
from synth.schemas.stage import Stage


@dataclass(frozen=True, slots=True)
class SpreadStage:
    """Name, settings, inputs and report of `inner`: how its work is spread changes none of them."""

    inner: Stage[Run]

    @property
    def name(self) -> str:
        """That of the stage itself."""
        return self.inner.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """Those of the stage itself."""
        return self.inner.settings

    def inputs(self, run: Run) -> str:
        """Those of the stage itself."""
        return self.inner.inputs(run)

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """That of the stage itself."""
        return self.inner.report(run, stage_key)
