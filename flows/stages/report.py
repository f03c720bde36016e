"""The stage `report`: what the run holds by then as one page, RUN/report.html; `synth report RUN`
gives it again.
"""

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from synth.engine.study.method import Method, synthesizer
from synth.engine.study.shard import ShardContext
from synth.engine.study.stage_context import StageContext
from synth.flows.stages.earlier import stages_before
from synth.ledger.ledger import StageRef
from synth.ledger.log.verify_written import fault
from synth.report.build import pieces
from synth.report.section import SECTIONS
from synth.report.written import PAGE, write_page


@synthesizer("report")
class ReportStage(Method):
    """Reads the ledger and writes the page; no row. What stands after it in the flow is not on
    it.
    """

    unit = "sections"

    def key_settings(self) -> Mapping[str, Any]:
        """None, but for the sections that the page has."""
        return {"sections": list(SECTIONS)}

    def inputs(self, stage: StageContext) -> Any:
        """The keys and reports of the stages before it, and the trajectories so far."""
        state = stage.run.ledger.state
        before = [(*one, state.done.get(one)) for one in stages_before(stage)]
        return [state.current_valid(), before]

    def units(self, stage: StageContext) -> Sequence[str]:
        """The page."""
        return [PAGE]

    def left(self, stage: StageContext, units: Sequence[str]) -> Sequence[str]:
        """The page, unless it stands as this stage wrote it."""
        ledger = stage.run.ledger
        named = ledger.state.written.get(PAGE)
        stands = (
            stage.finished
            and named is not None
            and fault(ledger.storage, PAGE, named.files[PAGE], thorough=False) is None
        )
        return () if stands else units

    def progress_of(self, unit: str) -> int:
        """Progress counts sections."""
        return len(SECTIONS)

    async def play(self, shard: ShardContext, units: Sequence[str]) -> None:
        """Writes the page."""
        # an interrupt is heard here: the page itself is made in one go
        await asyncio.sleep(0)

        run = shard.run
        command = shlex.join(["synth", "report", run.ledger.storage.url])
        page = pieces(run.ledger, command, lambda name: run.progress.step(1))
        write_page(run.ledger, page, StageRef(shard.name, shard.stage_key))
        # the page stands by itself, named in the manifest: no shard is committed
        shard.of(PAGE).open = True

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Where the page lies, relative to the run, which may be moved."""
        return {"kind": "report", "path": PAGE}
