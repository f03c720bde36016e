"""A stage that does one shard at a time beside another worker: a later shard may rest on an earlier
one.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from synth.claims import Leases
from synth.engine.study.method import Method, method_report, synthesizer
from synth.engine.study.shard import ShardContext
from synth.engine.study.stage_context import StageContext
from synth.ledger import Score, StoredLedger
from synth.schemas import content_hash
from tests.flow_files import echo_flow, run_flow

played: list[int] = []


class Numbers(Method):
    """Three shards of a number each."""

    shard: int = 1

    def units(self, stage: StageContext) -> Sequence[int]:
        return (0, 1, 2)

    async def play(self, shard: ShardContext, units: Sequence[int]) -> None:
        played.extend(units)
        for number in units:
            shard.of(str(number)).scores.append(Score("numbers", "number", float(number)))

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        return method_report("numbers", 3, 3, {})


@synthesizer("numbers_in_order")
class InOrder(Numbers):
    """One shard at a time."""

    at_once: ClassVar[int | None] = 1


@synthesizer("numbers_in_any_order")
class InAnyOrder(Numbers):
    """As many at a time as there are."""

    at_once: ClassVar[int | None] = 3


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "place"), [("InOrder", 0), ("InAnyOrder", 2)])
def test_what_another_worker_has_in_hand_is_waited_for_only_where_shards_have_an_order(
    kind: str, place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = echo_flow(stages=[{"rollout": {"trials": 1}}, {f"{__name__}:{kind}": {}}], lease_s=1)
    run_flow(flow, str(tmp_path / "like"))
    shards = StoredLedger(str(tmp_path / "like")).state.shards
    (stage_key,) = {line.stage_key for line in shards if line.stage.endswith(f":{kind}")}
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "elsewhere"))
    leases = Leases(StoredLedger(str(tmp_path / "run"), create=True), term_s=1)
    leases.claim(f"{stage_key}-{content_hash([0])}", leases.holder())
    leases._over.set()  # it gives no sign of life any more
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "here"))
    played.clear()
    _, _, said = run_flow(flow, str(tmp_path / "run"))
    assert (played.index(0), sorted(played)) == (place, [0, 1, 2])
    assert "waiting for their shards, or for a silence of 1 s" in said
