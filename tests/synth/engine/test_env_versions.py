"""The world that a stage played in stands in its report, with version and licence, for whoever
publishes what was made of it.
"""

from pathlib import Path

import msgspec

from synth.engine.runs.stage_reports import env_versions
from synth.envs.echo import SPEC
from synth.ledger.ledger import StageRef
from tests.flow_files import echo_flow, run_flow


def test_a_stage_that_played_says_where_and_one_that_changed_worlds_says_both(
    tmp_path: Path,
) -> None:
    run, reports, _ = run_flow(
        echo_flow(
            env={"name": "echo", "tasks": 1, "turns": 1}, stages=[{"rollout": {"trials": 1}}]
        ),
        str(tmp_path / "run"),
    )
    now = {"env": "echo", "version": SPEC.version, "licence": "Apache-2.0"}
    assert reports["rollout"]["worlds"] == [now]
    assert "worlds" not in reports["tasks"], "it played nothing"

    ref = StageRef("rollout", run.ledger.state.stages["rollout"].stage_key)
    assert env_versions(run, ref, reports["rollout"]) == {"worlds": [now]}
    run.spec_of = lambda name, settings: msgspec.structs.replace(SPEC, version="next")
    assert env_versions(run, ref, reports["rollout"]) == {
        "worlds": [now, {**now, "version": "next"}]
    }
