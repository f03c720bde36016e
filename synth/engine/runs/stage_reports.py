"""What the report of a stage says of the episodes that it committed."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import polars as pl

from synth.engine.context import Run
from synth.ledger import StageRef, StoredLedger

SHOWN = 3
_TURN = re.compile(r"^(turn|step) \d+")


def commonest(details: Mapping[str, int]) -> dict[str, int]:
    """The commonest details of faults, whatever the turn in which they came, the largest first."""
    alike: Counter[str] = Counter()

    for detail, count in details.items():
        alike[_TURN.sub(r"\1", detail)] += count
    return dict(sorted(alike.items(), key=lambda item: (-item[1], item[0]))[:SHOWN])


def episodes_report(ledger: StoredLedger, stage: str) -> Mapping[str, Any]:
    """Attempts by outcome and by fault, and the commonest details of the faults."""
    attempts = ledger.frame("trajectories").filter(pl.col("stage") == stage)
    detail = pl.col("fault_detail").replace("", None).fill_null("unknown")
    found = attempts.select("outcome", "fault", detail).collect()
    faulted = found.drop_nulls("fault")

    return {
        "kind": "episodes",
        "outcomes": _counts(found["outcome"]),
        "faults": _counts(faulted["fault"]),
        "details": commonest(_counts(faulted["fault_detail"])),
    }


def _counts(values: pl.Series) -> dict[str, int]:
    """How often each value occurs."""
    return dict(values.value_counts(sort=True).iter_rows())


def env_versions(run: Run, ref: StageRef, before: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The environments that a stage's episodes were played in, with version and licence, for cards
    of datasets: `{"worlds": [{env, version, licence}, ...]}`, those of the report `before` first.

    Nothing for a stage that committed no episodes.
    """
    env = run.flow.env
    shards = (shard for shard in run.ledger.state.shards if shard.stage_key == ref.stage_key)
    if env is None or not any("trajectories" in shard.files for shard in shards):
        return {}

    spec = run.spec_of(env.name, env.settings())
    earlier = [*(before or {}).get("worlds", ())]
    now = {"env": env.name, "version": spec.version, "licence": spec.licence}

    return {"worlds": earlier if now in earlier else [*earlier, now]}
