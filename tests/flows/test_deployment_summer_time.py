"""Which firings a Prefect server plans where Europe changes its clocks, and into which folders they
go.
"""

import asyncio
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from synth.flows.deployments.settings import run_dir_of

pytestmark = pytest.mark.slow  # imports a server
BERLIN = ZoneInfo("Europe/Berlin")
TO_SUMMER, TO_WINTER = (
    datetime(2027, 3, 27, 12, tzinfo=BERLIN),
    datetime(2027, 10, 30, 12, tzinfo=BERLIN),
)


def firings(schedule: Any, after: datetime, count: int) -> list[datetime]:
    return [due.astimezone(BERLIN) for due in asyncio.run(schedule.get_dates(n=count, start=after))]


def cron(line: str) -> Any:
    from prefect.server.schemas.schedules import CronSchedule

    return CronSchedule(cron=line, timezone="Europe/Berlin")


def test_a_night_in_which_half_past_two_is_skipped_has_one_firing_an_hour_early() -> None:
    due = firings(cron("30 2 * * *"), TO_SUMMER, 2)
    assert [one.isoformat() for one in due] == [
        "2027-03-28T01:30:00+01:00",
        "2027-03-29T02:30:00+02:00",
    ]
    assert [run_dir_of("{date}", "x", one) for one in due] == ["2027-03-28", "2027-03-29"]


def test_a_night_in_which_half_past_two_comes_twice_has_one_firing_at_the_first() -> None:
    due = firings(cron("30 2 * * *"), TO_WINTER, 2)
    assert [one.isoformat() for one in due] == [
        "2027-10-31T02:30:00+02:00",
        "2027-11-01T02:30:00+01:00",
    ]
    assert [run_dir_of("{date}", "x", one) for one in due] == ["2027-10-31", "2027-11-01"]


def every_half_hour(timezone: str) -> Any:
    from prefect.server.schemas.schedules import IntervalSchedule

    return IntervalSchedule(
        interval=timedelta(minutes=30), timezone=timezone, anchor_date=TO_WINTER
    )


@pytest.mark.parametrize(
    "schedule", [lambda: cron("*/30 * * * *"), lambda: every_half_hour("Europe/Berlin")]
)
def test_of_the_hour_that_comes_twice_the_second_is_left_out_so_that_no_folder_is_used_twice(
    schedule: Any,
) -> None:
    due = firings(schedule(), datetime(2027, 10, 31, 1, 45, tzinfo=BERLIN), 3)
    assert [one.isoformat() for one in due] == [
        "2027-10-31T02:00:00+02:00",
        "2027-10-31T02:30:00+02:00",
        "2027-10-31T03:00:00+01:00",
    ]
    assert len({run_dir_of("{date}-{time}", "x", one) for one in due}) == 3


def test_an_interval_without_a_timezone_keeps_its_distance() -> None:
    due = firings(every_half_hour("UTC"), datetime(2027, 10, 31, 1, 45, tzinfo=BERLIN), 6)
    assert {later.timestamp() - sooner.timestamp() for sooner, later in pairwise(due)} == {1800.0}
