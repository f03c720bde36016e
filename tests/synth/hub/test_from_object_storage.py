"""A run that lies in a bucket is published as one on a disk is, and its datasets are compared with
their digests on the way.
"""

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from tests.flow_files import echo_flow, run_flow
from tests.s3_server import serving
from tests.synth.cli.conftest import environment
from tests.synth.hub.hub_server import Hub
from tests.synth.hub.publisher import SENT, from_hub, head, publish, refused

pytest.importorskip("s3fs")
pytest.importorskip("moto")
pytest.importorskip("flask")
pytestmark = pytest.mark.slow

__all__ = ["environment"]
RUN = "s3://published/run"


@pytest.fixture(scope="module")
def run_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Eight solved episodes of the echo world, their SFT and RL rows, in a bucket of a local
    server.
    """
    with serving("published") as (_, variables), pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        patch.setenv("SYNTH_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        export = {"export": {"kinds": ["sft", "rl"], "include_scripted": True}}
        run_flow(
            echo_flow(stages=[{"rollout": {"trials": 2}}, {"filter": ["solved"]}, export]), RUN
        )
        yield RUN


def test_its_datasets_arrive_as_they_lie_in_the_bucket(
    run_url: str, hub: Hub, environment: dict[str, str], tmp_path: Path
) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    done = publish(run_url, *SENT, **environment, TMPDIR=str(aside))
    assert done.returncode == 0, done.stderr
    assert list(aside.iterdir()) == [], "what was copied aside to be sent is gone"
    stored = fsspec.filesystem("s3")
    for kind in ("sft", "rl"):
        (shard,) = stored.glob(f"{RUN}/datasets/{kind}/*.parquet")
        assert head(hub)[f"{kind}/{shard.rpartition('/')[2]}"] == stored.cat_file(shard)
    sft, rl = from_hub(environment, "sft", "rl")
    assert (len(sft), len(rl)) == (8, 4)
    again = publish(run_url, *SENT, **environment)
    assert "nothing to send: the Hub holds it already" in again.stdout, again.stderr


def test_a_shard_that_is_damaged_in_the_bucket_is_not_sent(
    run_url: str, hub: Hub, environment: dict[str, str]
) -> None:
    stored = fsspec.filesystem("s3")
    (shard,) = stored.glob(f"{RUN}/datasets/sft/*.parquet")
    blob = stored.cat_file(shard)
    stored.pipe_file(shard, blob[:-1] + b"x")
    try:
        assert f"{shard.rpartition('/')[2]}: damaged; run the flow again" in refused(
            publish(run_url, *SENT, **environment)
        )
    finally:
        stored.pipe_file(shard, blob)
    assert hub.repos == {}


def test_a_bucket_that_is_not_there_is_one_line(run_url: str, environment: dict[str, str]) -> None:
    assert "s3://nowhere/run" in refused(publish("s3://nowhere/run", *SENT, **environment))
