"""`synth publish` refuses what may not leave: secrets, benchmarks, datasets that are not what the
flow wrote.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from synth.flows.curate import curate
from synth.ledger import StoredLedger
from synth.ledger.ledger import StageRef
from synth.schemas.errors import ConfigError
from synth.schemas.trajectory import Observation, Source
from tests.flow_files import ROLLOUT, echo_flow, run_flow
from tests.synth.cli.test_commands import synth
from tests.synth.exporters.solved import trajectory
from tests.synth.hub.hub_server import Hub
from tests.synth.hub.publisher import SENT, from_hub, head, publish, refused

pytestmark = pytest.mark.slow
EXPORT = {"export": {"kinds": ["sft"], "include_scripted": True}}


def test_a_dataset_that_does_not_stand_as_its_flow_wrote_it_is_not_sent(
    tmp_path: Path, hub: Hub, environment: dict[str, str]
) -> None:
    run_flow(
        echo_flow(stages=[{"rollout": {"trials": 1}}, {"filter": ["solved"]}, EXPORT]),
        str(tmp_path / "run"),
    )
    shard = next((tmp_path / "run" / "datasets" / "sft").glob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-1] + b"x")
    assert "damaged; run the flow again" in refused(publish(tmp_path / "run", *SENT, **environment))
    assert hub.repos == {}


@pytest.mark.nightly
def test_of_what_an_export_took_over_publish_and_run_name_the_same_step_and_it_works(
    tmp_path: Path, hub: Hub, environment: dict[str, str]
) -> None:
    run, out = tmp_path / "run", tmp_path / "run" / "datasets" / "sft"
    run_flow(echo_flow(), str(run))
    flags = ("--include-scripted", "--out", out)
    line = refused(synth("export", run, *flags))
    assert (
        line
        == f"synth: {out}: holds a dataset that a flow wrote; choose another folder, or replace "
        "it with --overwrite"
    )
    assert publish(run, *SENT[:-1], **environment).returncode == 0
    assert synth("export", run, *flags, "--overwrite").returncode == 0
    held, step = (
        f"{out}: holds a dataset that no flow of this run wrote",
        "--set stages.export.overwrite=true",
    )
    assert refused(publish(run, *SENT, **environment)) == (
        f"synth: {held}; run the flow again with {step}, which writes it anew, then publish"
    )
    with pytest.raises(ConfigError, match=f"^{re.escape(held)}, .*{step}$"):
        run_flow(echo_flow(), str(run))
    stages = [
        {"rollout": ROLLOUT},
        {"filter": ["solved", "reexecuted"]},
        {"export": {**EXPORT["export"], "as": "trl", "overwrite": True}},
    ]
    run_flow(echo_flow(stages=stages), str(run))
    assert publish(run, *SENT[:-1], **environment).returncode == 0
    assert run_flow(echo_flow(), str(run))[2].splitlines()[-1] == "export: nothing to do"


KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fH3jL5"


def imported(folder: Path, filters: list[Any], **fields: Any) -> Path:
    """A ledger with one imported trajectory in which a key stands, curated."""
    said = (Observation(f"Push with {KEY}.", Source.USER),)
    ledger = StoredLedger(str(folder), create=True)
    ledger.commit(StageRef("import", "import"), trajectories=[trajectory(opening=said, **fields)])
    run_flow(
        echo_flow(
            env=None, models={}, stages=[{"filter": filters}, {"export": {"allow_benchmark": True}}]
        ),
        str(folder),
        curate,
    )
    return folder


def test_a_secret_that_no_filter_redacted_keeps_the_dataset_here(
    tmp_path: Path, hub: Hub, environment: dict[str, str]
) -> None:
    line = refused(publish(imported(tmp_path / "run", ["solved"]), *SENT, **environment))
    assert "nothing was sent: secrets or personal data that are not redacted: " in line
    assert "github_token (sft, column messages)" in line
    assert KEY not in line
    assert hub.repos == {}


def test_a_secret_that_the_filter_redacted_is_published_as_its_stand_in(
    tmp_path: Path, hub: Hub, environment: dict[str, str]
) -> None:
    done = publish(imported(tmp_path / "run", ["solved", "secrets"]), *SENT, **environment)
    assert done.returncode == 0, done.stderr
    everything = b"".join(head(hub).values())
    assert KEY.encode() not in everything
    (rows,) = from_hub(environment, "sft")
    assert "[REDACTED:github_token:1]" in json.dumps(rows)
    assert b"[REDACTED:github_token:1]" in b"".join(
        blob for path, blob in head(hub).items() if path.startswith("traces/")
    )
    assert b"in 1 something was found, and stand-ins" in head(hub)["README.md"]


def test_attempts_at_benchmarks_are_published_only_when_asked_and_said_first(
    tmp_path: Path, hub: Hub, environment: dict[str, str]
) -> None:
    run = imported(tmp_path / "run", ["solved", "secrets"], benchmark="tau-bench/test")
    assert (
        "1 of 1 rows are attempts at public benchmarks (tau-bench/test); --allow-benchmark"
        in refused(publish(run, *SENT, **environment))
    )
    assert hub.repos == {}
    assert publish(run, *SENT, "--allow-benchmark", **environment).returncode == 0
    body = head(hub)["README.md"].decode().split("---\n", 2)[2]
    assert body.startswith(
        "**WARNING** `sft`: 1 of 1 rows are attempts at public benchmarks (tau-bench/test)"
    )
