"""Episodes: how each one ends, and that none disturbs another."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.envs.echo import WORLD
from synth.ledger.storage.journal import Journal
from synth.policies.scripted import expert_policy
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.live_envs.threads import ThreadedEnv, Threads
from synth.rollout.slots import run_slots
from synth.schemas.environment import AgentTurn, Env, Opening, Response
from synth.schemas.errors import SynthError
from synth.schemas.model import ModelError
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.policy import Act, Episode, Policy, PolicySpec, View
from synth.schemas.trajectory import (
    Authorship,
    Observation,
    SampledBy,
    Source,
    ToolCall,
    Trajectory,
    Usage,
)

TASKS = WORLD.make_tasks({"turns": 3}, 1, 3)
EXPERT = expert_policy({}, model_name=None, sampling={})


def policy_of(act: Any) -> PolicySpec:
    """A policy from a function of the view."""

    class One:
        async def act(self, view: View) -> Act:
            found = act(view)
            return found if isinstance(found, Act) else Act(turn=found)

    def open_policy(episode: Episode) -> Policy:
        return One()

    return PolicySpec(
        name="one", authorship=Authorship.SCRIPTED, identity={"one": 1}, open=open_policy
    )


def work(policy: PolicySpec = EXPERT, index: int = 0, **limits: Any) -> EpisodeSpec:
    task = TASKS[index]
    return EpisodeSpec(
        slot_id=f"slot{index}",
        task=task,
        trial=0,
        seed=1,
        synthesizer="rollout",
        policy=policy,
        limits=Limits(**limits),
    )


def fill(
    tmp_path: Path,
    works: list[EpisodeSpec],
    config: dict[str, Any] | None = None,
    worlds: Any = None,
) -> list[Trajectory]:
    journal = Journal(tmp_path / "journal.jsonl")
    open_world = worlds or (lambda work: WORLD.open({"turns": 3, **(config or {})}))
    try:
        return asyncio.run(
            run_slots(
                works,
                open_world,
                None,
                journal,
                {},
                live_episodes=8,
            )
        )
    finally:
        journal.close()


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


def test_a_world_that_answers_with_something_else_is_at_fault(tmp_path: Path) -> None:
    class Odd:
        spec = WORLD.spec

        def __init__(self, response: Any) -> None:
            self._response = response

        async def reset(self, task: Any) -> Opening:
            return Opening("", (), ())

        async def step(self, turn: AgentTurn) -> Any:
            return self._response

        async def check(self) -> Any:
            return True

        async def close(self) -> None:
            return

    for answer in (
        "text",
        Response(("text",)),
        Response((), reward=float("nan")),
        Response((), done=True),
    ):  # type: ignore[arg-type]
        found = fill(
            tmp_path,
            [work(policy_of(lambda view: AgentTurn("hi")))],
            worlds=lambda work, answer=answer: Odd(answer),
        )
        assert {t.fault for t in found} == {Fault.ENVIRONMENT}


def test_a_canned_greeting_is_a_masked_turn_that_nobody_sampled(tmp_path: Path) -> None:
    class Greeting:
        spec = WORLD.spec

        async def reset(self, task: Any) -> Opening:
            return Opening(
                "",
                (),
                (Observation("Where is my order?", Source.USER),),
                greeting="Hello, how can I help?",
            )

        async def step(self, turn: AgentTurn) -> Response:
            return Response((), done=True)

        async def check(self) -> Any:
            return await WORLD.open({"turns": 3}).check()

        async def close(self) -> None:
            return

    (first, *_) = fill(
        tmp_path,
        [work(policy_of(lambda view: AgentTurn("It is on its way.")))],
        worlds=lambda work: Greeting(),
    )
    greeting = first.turns[0]
    assert (greeting.sampled_by, greeting.mask, greeting.content) == (
        SampledBy.CANNED,
        "canned_greeting",
        "Hello, how can I help?",
    )
    assert first.opening == ()
    assert greeting.observations[0].content == "Where is my order?"


def test_a_full_disk_stops_the_run_instead_of_becoming_a_fault(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").symlink_to("/dev/full")
    with pytest.raises(SynthError, match="the disk is full"):
        fill(tmp_path, [work()])


def test_blocking_worlds_leave_the_event_loop_free_and_a_hang_costs_one_episode(
    tmp_path: Path,
) -> None:
    threads = Threads(2)
    gaps: list[float] = []

    async def scene() -> list[Trajectory]:
        journal = Journal(tmp_path / "j.jsonl")
        works = [work(index=i, step_timeout_s=2) for i in range(3)]

        def open_world(work: EpisodeSpec) -> Env:
            return ThreadedEnv(WORLD.open({"turns": 3, "blocking_ms": 30}), threads)

        async def heartbeat() -> None:
            loop = asyncio.get_running_loop()
            while True:
                began = loop.time()
                await asyncio.sleep(0.005)
                gaps.append(loop.time() - began)

        beat = asyncio.create_task(heartbeat())
        found = await run_slots(
            works,
            open_world,
            None,
            journal,
            {},
            live_episodes=8,
        )
        beat.cancel()
        journal.close()
        return found

    found = asyncio.run(scene())
    assert [t.outcome for t in found] == [Outcome.SUCCESS] * 3
    assert len(gaps) > 20, "the loop ran while worlds blocked"
    assert sorted(gaps)[int(len(gaps) * 0.5)] < 0.03, (
        "a blocking step takes 30 ms; the loop must not wait for it"
    )
