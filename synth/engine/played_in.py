"""The world that a stage's episodes were played in, with version and licence: what cards of
datasets say of it.
"""

from collections.abc import Mapping
from typing import Any

from synth.engine.context import Run
from synth.ledger.ledger import StageRef


def played_in(run: Run, ref: StageRef, before: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """`{"worlds": [{env, version, licence}, ...]}`, those of the report `before` first; nothing for
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
