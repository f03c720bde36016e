"""Episodes: how each one ends, and that none disturbs another."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.envs.echo import WORLD
from synth.rollout.episode import EpisodeSpec
from synth.schemas.environment import AgentTurn, Env
from synth.schemas.model import ModelError
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.policy import Act, PolicySpec, View
from synth.schemas.trajectory import (
    ToolCall,
    Usage,
)
from tests.synth.rollout.episodes import TASKS, fill, policy_of, work


def say(text: str) -> AgentTurn:
    return AgentTurn(
        tool_calls=(ToolCall.received("c", "echo", msgspec.json.encode({"text": text}).decode()),)
    )


def test_an_expert_episode_is_a_success_with_everything_the_model_saw(tmp_path: Path) -> None:
    (trajectory,) = fill(tmp_path, [work()])
    assert (trajectory.outcome, trajectory.termination, trajectory.reward) == (
        Outcome.SUCCESS,
        Termination.DONE,
        1.0,
    )
    assert trajectory.system_prompt is not None
    assert [tool["function"]["name"] for tool in trajectory.tools] == ["echo", "finish"]
    assert trajectory.opening[0].content == TASKS[0].goal
    assert trajectory.check_result is not None
    assert trajectory.check_result.passed


@pytest.mark.parametrize(
    ("policy", "limits", "termination"),
    [
        (
            policy_of(lambda view: say(f"x{len(view.turns)}")),
            {"max_turns": 5},
            Termination.TURN_LIMIT,
        ),
        (policy_of(lambda view: say("again")), {"stuck_after": 3}, Termination.STUCK),
        (
            policy_of(lambda view: Act(turn=say(f"x{len(view.turns)}"), usage=Usage(1, 50, 0, 1))),
            {"max_tokens": 100},
            Termination.TOKEN_LIMIT,
        ),
        (
            policy_of(lambda view: Act(turn=say(f"x{len(view.turns)}"), latency_ms=600.0)),
            {"time_s": 1},
            Termination.TIME_LIMIT,
        ),
    ],
)
def test_a_limit_that_the_agent_runs_into_truncates_and_is_no_fault(
    tmp_path: Path, policy: PolicySpec, limits: dict[str, Any], termination: Termination
) -> None:
    (trajectory,) = fill(tmp_path, [work(policy, **limits)])
    assert (trajectory.outcome, trajectory.termination, trajectory.fault) == (
        Outcome.TRUNCATED,
        termination,
        None,
    )
    assert trajectory.check_result is not None
    assert not trajectory.check_result.passed


def test_context_overflow_is_the_agents_own_limit(tmp_path: Path) -> None:
    def overflow(view: View) -> AgentTurn:
        raise ModelError("too long", context_overflow=True)

    (trajectory,) = fill(tmp_path, [work(policy_of(overflow))])
    assert (trajectory.outcome, trajectory.termination) == (
        Outcome.TRUNCATED,
        Termination.CONTEXT_LIMIT,
    )


def raising(error: Exception) -> PolicySpec:
    def act(view: View) -> AgentTurn:
        raise error

    return policy_of(act)


@pytest.mark.parametrize(
    ("works", "config", "fault", "attempts"),
    [
        ([work(raising(ModelError("500")))], {}, Fault.MODEL, 3),
        ([work(raising(ModelError("late", timeout=True)))], {}, Fault.TIMEOUT, 2),
        ([work(raising(ZeroDivisionError()))], {}, Fault.MODEL, 3),
        ([work()], {"fail_at_turn": 1}, Fault.ENVIRONMENT, 2),
        ([work(step_timeout_s=0.1)], {"hang_at_turn": 1}, Fault.TIMEOUT, 2),
        ([work()], {"raise_in_check": True}, Fault.ENVIRONMENT, 2),
    ],
)
def test_a_fault_names_its_boundary_has_no_reward_and_is_retried_by_its_class(
    tmp_path: Path, works: list[EpisodeSpec], config: dict[str, Any], fault: Fault, attempts: int
) -> None:
    found = fill(tmp_path, works, config)
    assert [t.attempt for t in found] == list(range(attempts))
    for trajectory in found:
        assert (
            trajectory.outcome,
            trajectory.fault,
            trajectory.reward,
            trajectory.check_result,
        ) == (Outcome.INVALID, fault, None, None)
        assert trajectory.fault_detail
    assert len({t.trajectory_id for t in found}) == attempts
    assert len({t.slot_id for t in found}) == 1


def test_one_broken_episode_does_not_disturb_the_others(tmp_path: Path) -> None:
    def open_world(work: EpisodeSpec) -> Env:
        return WORLD.open(
            {"turns": 3, "fail_at_turn": 1} if work.slot_id == "slot1" else {"turns": 3}
        )

    found = fill(tmp_path, [work(index=0), work(index=1), work(index=2)], worlds=open_world)
    assert [(t.slot_id, t.outcome) for t in found] == [
        ("slot0", Outcome.SUCCESS),
        ("slot1", Outcome.INVALID),
        ("slot1", Outcome.INVALID),
        ("slot2", Outcome.SUCCESS),
    ]


def test_the_turns_before_a_fault_are_kept_and_the_one_that_the_world_broke_at(
    tmp_path: Path,
) -> None:
    first, _ = fill(tmp_path, [work()], {"fail_at_turn": 2})
    assert [len(turn.observations) for turn in first.turns] == [1, 1, 0]
    assert first.turns[2].mask == "fault"
    assert first.turns[2].tool_calls[0].name == "echo"


def test_broken_arguments_are_answered_masked_and_not_crashed_on(tmp_path: Path) -> None:
    broken = AgentTurn(tool_calls=(ToolCall.received("c", "echo", '{"text": '),))
    (trajectory,) = fill(tmp_path, [work(policy_of(lambda view: broken), max_turns=1)])
    (turn,) = trajectory.turns
    assert turn.mask == "parse_error"
    assert turn.tool_calls[0].arguments == '{"text": '
    assert turn.observations[0].error


def test_text_that_no_file_can_hold_is_mended_on_both_sides(tmp_path: Path) -> None:
    odd = AgentTurn("\ud800", (ToolCall.received("c\ud800", "x\ud800", '{"text": "\ud800"}'),))
    (trajectory,) = fill(tmp_path, [work(policy_of(lambda view: odd), max_turns=1)])
    msgspec.json.encode(trajectory)
    assert trajectory.turns[0].content == "\ufffd"
    assert trajectory.turns[0].tool_calls[0].name == "x\ufffd"
