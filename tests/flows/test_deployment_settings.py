"""What a deployment is told: where each firing writes, when, and what is tried again."""

import asyncio
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from synth.flows.deployments.deployment import Deployment
from synth.flows.deployments.settings import (
    refuse_bad_schedule,
    refuse_bad_url,
    refuse_unknown,
    run_dir_of,
    settled,
)
from synth.flows.work import again_after
from synth.schemas.errors import ConfigError, DamagedError, FlowError, SynthError

TWO_IN_BERLIN = datetime(2026, 11, 21, 2, 0, tzinfo=ZoneInfo("Europe/Berlin"))


def test_each_firing_has_the_folder_of_its_day_and_name() -> None:
    assert run_dir_of("s3://b/{name}/{date}", "mine", TWO_IN_BERLIN) == "s3://b/mine/2026-11-21"
    assert (
        run_dir_of("/r/{name}-{date}T{time}", "mine", TWO_IN_BERLIN) == "/r/mine-2026-11-21T020000"
    )


@pytest.mark.parametrize("template", ["runs/{day}", "runs/{}", "runs/{name", "", "runs/{name.x}"])
def test_a_template_that_cannot_be_filled_in_is_refused_before_anything_is_registered(
    template: str,
) -> None:
    with pytest.raises(ConfigError, match="--run-dir"):
        refuse_unknown(template)


def test_a_relative_folder_is_made_absolute_because_workers_start_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert settled("runs/{date}", remote=False) == f"{tmp_path}/runs/{{date}}"
    assert settled("s3://bucket/{date}", remote=True) == "s3://bucket/{date}"
    with pytest.raises(ConfigError, match="starts its runs elsewhere"):
        settled("runs/{date}", remote=True)


def test_a_schedule_is_one_of_cron_and_interval() -> None:
    with pytest.raises(ConfigError, match="give one of them"):
        refuse_bad_schedule("0 2 * * *", 60, "UTC")
    with pytest.raises(ConfigError, match="from 1 to a year"):
        refuse_bad_schedule(None, 0, "UTC")
    with pytest.raises(ConfigError, match="--timezone Mars/North"):
        refuse_bad_schedule(None, 60, "Mars/North")
    refuse_bad_schedule(None, 60, "Europe/Berlin")


def test_a_notice_goes_to_a_url() -> None:
    with pytest.raises(ConfigError, match="webhook"):
        refuse_bad_url("me@example.org")


def test_parameters_hold_the_whole_flow_so_that_workers_need_no_file() -> None:
    order = Deployment(
        name="a", content={"name": "a", "stages": ["rollout"]}, run_dir="s3://b/{date}", cwd="/"
    )
    assert order.parameters()["flow"] == {"name": "a", "stages": ["rollout"]}


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (SynthError("the server refuses"), True),
        (OSError("no route"), True),
        (ConfigError("a typo"), False),
        (FlowError("a typo"), False),
        (DamagedError("flipped"), False),
        (ValueError("a fault of ours"), False),
    ],
)
def test_only_what_may_pass_is_tried_again(error: Exception, again: bool) -> None:
    tries = 0

    async def work() -> str:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise error
        return "done"

    said: list[str] = []
    if again:
        assert asyncio.run(again_after(work, "shard", said.append, (0.0, 0.0))) == "done"
        assert len(said) == 2
    else:
        with pytest.raises(type(error)):
            asyncio.run(again_after(work, "shard", said.append, (0.0, 0.0)))
        assert tries == 1


def test_what_does_not_pass_in_the_end_is_raised() -> None:
    async def work() -> None:
        raise SynthError("the server refuses")

    with pytest.raises(SynthError, match="the server refuses"):
        asyncio.run(again_after(work, "shard", lambda line: None, (0.0,)))


def test_the_folder_of_a_firing_lies_beside_the_run_of_the_same_name() -> None:
    assert run_dir_of("runs/{name}-{date}", "mine", TWO_IN_BERLIN) == "runs/mine-2026-11-21"
