"""Whole runs whose rollouts are cut into parts that are done elsewhere: the same ledger, whatever
becomes of a part.
"""

import asyncio
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from synth.engine.context import Run
from synth.engine.progress import PlainProgress
from synth.engine.runner import WorkShard
from synth.flows.deployment_parts import InParts, Part, share_of_budget, work_begun_part
from synth.flows.resolve import resolve
from synth.flows.synthesize import bindings_of_flow, synthesize, worked
from synth.ledger import Ledger
from synth.rollout.episode import canonical_content
from synth.schemas.errors import ConfigError
from synth.schemas.stage import Shard, Stage
from tests.flow_files import echo_flow, run_flow

pytestmark = pytest.mark.slow
FLOW = echo_flow(
    env={"name": "echo", "tasks": 9, "turns": 2},
    stages=[{"rollout": {"trials": 2, "shard": 3}}, {"filter": ["solved"]}],
)


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))


def here(run: Run) -> WorkShard:
    async def work(stage: Stage[Run], stage_key: str, shard: Shard) -> None:
        await stage.work(run, stage_key, shard)

    return work


async def by_another_process(url: str, part: Part) -> None:
    """What the flow run of a part does, on a ledger that it opens itself."""
    roles, stages = resolve(FLOW)

    async def work(run: Run) -> dict[str, Any]:
        return {part.stage: await work_begun_part(run, stages, part, here(run))}

    await worked(
        Ledger(url), FLOW, roles, PlainProgress(StringIO()), bindings_of_flow(FLOW, url), work
    )


def spread(url: str, count: int, lost: set[int]) -> Any:
    """The flow in parts; those that are `lost` nobody does elsewhere."""

    async def elsewhere(run: Run, part: Part) -> bool:
        if part.number in lost:
            return False
        await by_another_process(url, part)
        return True

    cut = partial(InParts, count=count, elsewhere=elsewhere, wrap=here)
    return asyncio.run(synthesize(FLOW, url, PlainProgress(StringIO()), here, cut))


def contents(url: str) -> dict[str, Any]:
    return {
        trajectory.slot_id: canonical_content(trajectory)
        for trajectory in Ledger(url).trajectories()
    }


@pytest.mark.parametrize("lost", [set(), {0}, {0, 1, 2}])
def test_the_ledger_is_that_of_an_undivided_run_also_where_parts_are_lost(
    tmp_path: Path, lost: set[int]
) -> None:
    run_flow(FLOW, str(tmp_path / "whole"))
    _, reports = spread(str(tmp_path / "parts"), 3, lost)
    assert contents(str(tmp_path / "parts")) == contents(str(tmp_path / "whole"))
    assert reports["rollout"]["outcomes"] == {"success": 18}
    state = Ledger(str(tmp_path / "parts")).state
    assert {stage for stage, _ in state.done} == {"tasks", "rollout", "filter"}


def test_a_second_run_in_parts_finds_nothing_to_do(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    spread(url, 2, set())
    before = Ledger(url).state.lines
    spread(url, 2, {0, 1})
    assert Ledger(url).state.lines == before


def test_a_part_of_a_run_that_nobody_has_begun_is_refused(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(name="another"), url)
    with pytest.raises(ConfigError, match=r"no run of this flow waits for rollout:0/2"):
        asyncio.run(by_another_process(url, Part("rollout", 0, 2)))


def test_parts_share_what_the_ceilings_leave(tmp_path: Path) -> None:
    run_flow(FLOW, str(tmp_path / "run"))  # an expert uses no tokens
    shared = share_of_budget(
        FLOW.model_copy(update={"max_tokens": 1000, "max_cost_usd": 3.0}),
        Ledger(str(tmp_path / "run")),
        4,
    )
    assert (shared.max_tokens, shared.max_cost_usd) == (250, 0.75)
