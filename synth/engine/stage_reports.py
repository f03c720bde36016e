"""What the report of a stage says of the episodes that it committed."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from synth.engine.context import Run
from synth.ledger.ledger import Ledger, StageRef

SHOWN = 3
_TURN = re.compile(r"^(turn|step) \d+")


def commonest(details: Counter[str]) -> dict[str, int]:
    """The commonest details of faults, whatever the turn in which they came, the largest first."""
    alike: Counter[str] = Counter()
    for detail, count in details.items():
        alike[_TURN.sub(r"\1", detail)] += count
    return dict(sorted(alike.items(), key=lambda item: (-item[1], item[0]))[:SHOWN])


def episodes_report(ledger: Ledger, stage: str) -> Mapping[str, Any]:
    """Attempts by outcome and by fault, and the commonest details of the faults."""
    outcomes: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    details: Counter[str] = Counter()
    for trajectory in ledger.records([stage]):
        outcomes[trajectory["outcome"]] += 1
        if trajectory["fault"] is not None:
            faults[trajectory["fault"]] += 1
            details[trajectory["fault_detail"] or "unknown"] += 1
    return {
        "kind": "episodes",
        "outcomes": dict(outcomes),
        "faults": dict(faults),
        "details": commonest(details),
    }


def env_versions(run: Run, ref: StageRef, before: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The environments that a stage's episodes were played in, with version and licence, for cards of
    datasets: `{"worlds": [{env, version, licence}, ...]}`, those of the report `before` first; nothing for
    a stage that committed no episodes.
    """
    env = run.flow.env
    played = any(
        "trajectories" in shard.files
        for shard in run.ledger.state.shards
        if shard.stage_key == ref.stage_key
    )
    if env is None or not played:
        return {}
    spec = run.spec_of(env.name, env.settings())
    earlier = [*(before or {}).get("worlds", ())]
    now = {"env": env.name, "version": spec.version, "licence": spec.licence}
    return {"worlds": earlier if now in earlier else [*earlier, now]}
