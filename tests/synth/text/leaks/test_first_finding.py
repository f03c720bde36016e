"""The filter drops by the first finding."""

import asyncio
from typing import Any

import pytest

from synth.filters.leaks import LeaksConfig, no_leaks
from synth.schemas.environment import Env
from synth.schemas.filtering import Case
from synth.schemas.trajectory import Trajectory
from tests.synth.text.leaks.told_leaks import says, told


def refuse(name: str, config: Any) -> Env:
    raise AssertionError("the scan needs no world")


@pytest.mark.parametrize(
    ("trajectory", "verdict"),
    [
        (told(says("I look at O-9173.")), (False, "literal_of_guidance")),
        (told(says("Fine.")), (True, "clean")),
        (told(says("I look at O-9173."), guidance=None), (None, "not_guided")),
    ],
)
def test_the_filter_drops_by_the_first_finding(
    trajectory: Trajectory, verdict: tuple[bool | None, str]
) -> None:
    found = asyncio.run(no_leaks(Case(trajectory, None, refuse), LeaksConfig()))
    assert (found.keep, found.reason) == verdict
