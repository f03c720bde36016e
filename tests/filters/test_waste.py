"""The filters `waste` and `efficiency`: columns on successes; they drop only past a limit that the
flow sets.
"""

import asyncio
from typing import Any

import msgspec
import pytest

from synth.envs.echo import WORLD
from synth.filters.efficiency import (
    EfficiencyConfig,
    action_repetition_rate,
    efficiency,
    prompt_cache_use,
)
from synth.filters.efficiency import measure as measure_efficiency
from synth.filters.waste import WasteConfig, measure, waste
from synth.schemas.check import CheckResult, SubVerdict
from synth.schemas.filtering import Case, Verdict
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.trajectory import Observation, ToolCall, Trajectory, Turn, Usage
from tests.trajectories import make_trajectory

FAILED = {"outcome": Outcome.FAILURE, "termination": Termination.AGENT_STOP, "reward": 0.0}


def steps(identity: str, acts: str, **fields: Any) -> Trajectory:
    """One call per letter; the same letter asks the same, and is answered the same."""
    turns = tuple(
        Turn(
            at,
            tool_calls=(ToolCall.received(f"c{at}", "get", f'{{"of": "{act}"}}'),),
            observations=(Observation(act, call_id=f"c{at}"),),
        )
        for at, act in enumerate(acts)
    )
    return msgspec.structs.replace(
        make_trajectory(turns=0, **fields), turns=turns, trajectory_id=identity
    )


NOBODY: Any = None
"""No measure here asks a model."""


def case(trajectory: Trajectory) -> Case:
    return Case(trajectory, None, lambda name, settings: WORLD.open(settings))


def wasted(trajectory: Trajectory, **given: Any) -> Verdict:
    config = WasteConfig(**given)
    measured = asyncio.run(measure(case(trajectory), config, NOBODY))
    return asyncio.run(
        waste(msgspec.structs.replace(case(trajectory), measures=tuple(measured)), config)
    )


def test_reads_that_were_made_before_are_told_and_drop_only_past_the_share() -> None:
    found = wasted(steps("a", "xyzx"))
    assert found == Verdict(True, "wasteful", 0.25, {"turns": {"redundant_read": [3]}})
    assert wasted(steps("a", "xyzx"), max_share=0.2).keep is False
    assert wasted(steps("a", "xyz")) == Verdict(True, "lean", 0.0, {"turns": {}})


def test_what_is_no_success_is_undefined() -> None:
    assert (
        wasted(steps("a", "xyzx", **FAILED)).keep,
        wasted(steps("a", "xyzx", **FAILED)).score,
    ) == (None, 0.25)
    assert wasted(steps("a", "")) == Verdict(None, "empty")


def test_repetition_is_the_share_of_turns_that_do_the_same_in_the_same_state() -> None:
    # the first x was done before anything was seen; the second and third follow the same answer, so
    # only the third repeats the one before
    assert action_repetition_rate(steps("a", "xxxy")) == pytest.approx(1 / 4)
    assert action_repetition_rate(steps("a", "xyxy")) == 0.0
    assert action_repetition_rate(steps("a", "")) is None


def test_cache_use_is_undefined_where_no_tokens_were_counted() -> None:
    assert (
        prompt_cache_use(steps("a", "x", totals=Usage(prompt_tokens=200, cached_tokens=50))) == 0.25
    )
    assert prompt_cache_use(steps("a", "x", totals=Usage())) is None


def test_steps_are_set_against_the_shortest_success_that_kept_to_the_process() -> None:
    broken = CheckResult(True, (SubVerdict("process", False),), {}, "1")
    trials = [
        steps("long", "abcdef"),
        steps("short", "abc"),
        steps("cheat", "a", check_result=broken),
        steps("failed", "ab", **FAILED),
    ]
    config = EfficiencyConfig(max_overhead=1.5)
    cases = []
    for trajectory in trials:
        measured = asyncio.run(measure_efficiency(case(trajectory), config, NOBODY))
        cases.append(msgspec.structs.replace(case(trajectory), measures=tuple(measured)))
    found = asyncio.run(efficiency(cases, config))
    assert {i: (v.keep, v.reason, v.score) for i, v in found.items()} == {
        "long": (False, "long_way_round", 2.0),
        "short": (True, "success", 1.0),
        "cheat": (True, "success", pytest.approx(1 / 3)),
        "failed": (None, "no_success", None),
    }
