"""The stage `report`: what the run holds by then as one page, RUN/report.html; `synth report RUN`
gives it again.
"""

import asyncio
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from synth.engine.context import Run
from synth.ledger.ledger import StageRef
from synth.ledger.log.verify_written import fault
from synth.report.build import pieces
from synth.report.section import SECTIONS
from synth.report.written import PAGE, write_page
from synth.schemas.canonical import content_hash
from synth.schemas.stage import Plan, Shard


class ReportSettings(BaseModel):
    """No settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, slots=True)
class ReportStage:
    """Reads the ledger and writes the page; no row. What stands after it in the flow is not on
    it.
    """

    name: str
    config: ReportSettings

    @property
    def settings(self) -> Mapping[str, Any]:
        """None, but for the sections that the page has."""
        return {"sections": list(SECTIONS)}

    def inputs(self, run: Run) -> str:
        """The keys and reports of the stages before it, and the trajectories so far."""
        state = run.ledger.state
        names = list(state.stages)

        # stages after it may be of an earlier run of the same flow: they are not on the page
        before = names[: names.index(self.name)] if self.name in names else names
        stages = [
            (
                name,
                state.stages[name].stage_key,
                state.done.get((name, state.stages[name].stage_key)),
            )
            for name in before
        ]

        return content_hash([state.current_valid(), stages])

    def plan(self, run: Run, stage_key: str) -> Plan:
        """One page, unless it stands as this stage wrote it."""
        done = run.ledger.state.done.get((self.name, stage_key))
        if done is not None and self._stands(run):
            return Plan(())
        return Plan((Shard("page", (PAGE,)),), (), len(SECTIONS), "sections")

    def _stands(self, run: Run) -> bool:
        """Whether the page lies there as the manifest names it."""
        named = run.ledger.state.written.get(PAGE)
        return (
            named is not None
            and fault(run.ledger.storage, PAGE, named.files[PAGE], thorough=False) is None
        )

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Writes the page."""
        # an interrupt is heard here: the page itself is made in one go
        await asyncio.sleep(0)

        command = shlex.join(["synth", "report", run.ledger.storage.url])
        page = pieces(run.ledger, command, lambda name: run.progress.step(1))
        write_page(run.ledger, page, StageRef(self.name, stage_key))

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Where the page lies, relative to the run, which may be moved."""
        return {"kind": "report", "path": PAGE}
