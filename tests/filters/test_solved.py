"""The filter `solved`: what the environment's own check accepted."""

import asyncio

import pytest

from synth.envs.echo import WORLD
from synth.filters.solved import solved
from synth.schemas.check import CheckResult
from synth.schemas.filtering import Case, Verdict
from synth.schemas.outcome import Outcome, Termination
from tests.trajectories import make_trajectory


@pytest.mark.parametrize(
    ("outcome", "termination", "reward", "verdict"),
    [
        (Outcome.SUCCESS, Termination.DONE, 1.0, Verdict(True, "success", 1.0)),
        (Outcome.FAILURE, Termination.AGENT_STOP, 0.0, Verdict(False, "failure", 0.0)),
        (Outcome.TRUNCATED, Termination.TURN_LIMIT, 1.0, Verdict(False, "truncated", 1.0)),
        (Outcome.UNKNOWN, Termination.UNREPORTED, None, Verdict(None, "no_verdict")),
    ],
)
def test_only_successes_are_kept_and_the_unknown_stays_undefined(
    outcome: Outcome, termination: Termination, reward: float | None, verdict: Verdict
) -> None:
    trajectory = make_trajectory(outcome=outcome, termination=termination, reward=reward)
    case = Case(trajectory, None, lambda name, config: WORLD.open(config))
    assert asyncio.run(solved.judge(case, solved.config())) == verdict


def test_what_the_check_could_not_tell_is_unverified() -> None:
    trajectory = make_trajectory(
        outcome=Outcome.UNKNOWN, reward=None, check_result=CheckResult(None, version="1")
    )
    case = Case(trajectory, None, lambda name, config: WORLD.open(config))
    assert asyncio.run(solved.judge(case, solved.config())) == Verdict(None, "unverified")
