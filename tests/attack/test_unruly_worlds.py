"""A world that breaks the protocol is a fault of the world: no label, no row, and the audit names
what it broke.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from synth.boundary import FaultError
from synth.envs.audit.audit import audit
from synth.envs.audit.questions import QUESTIONS
from synth.envs.echo import WORLD as ECHO
from synth.envs.echo import EchoConfig
from synth.envs.world import EnvEntry
from synth.ledger.sql import query
from synth.ledger.storage.journal import Journal
from synth.policies.scripted import expert_policy
from synth.rl.episode import RlEpisode as RlEpisode
from synth.rollout.answers import stepped
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import run_slots
from synth.schemas.environment import AgentTurn, Response
from synth.schemas.outcome import Fault, Outcome
from synth.schemas.policy import Act, Episode, Policy, PolicySpec, View
from synth.schemas.trajectory import (
    Authorship,
    Observation,
    Planted,
    Source,
    ToolCall,
    Trajectory,
    Wording,
)
from tests.attack.unruly_worlds import EVERY, NAMES, CheckEndsTheEpisode, world
from tests.flow_files import echo_flow, run_flow

TASKS = ECHO.make_tasks({"turns": 3}, 1, 2)
PROTOCOL = [question for question in QUESTIONS if question.name == "protocol"]


class Talks:
    """The expert's turns, and words after the first of them."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    async def act(self, view: View) -> Act:
        expert = await self._episode.env.expert(None, 0)
        return Act(turn=AgentTurn("Hm.") if len(view.turns) == 1 else expert)


def talks(episode: Episode) -> Policy:
    return Talks(episode)


TALKING = PolicySpec(name="talks", authorship=Authorship.MODEL, identity={"talks": 1}, open=talks)


def attempt(folder: Path, env: Any, policy: PolicySpec) -> Trajectory:
    work = EpisodeSpec(
        slot_id="s",
        task=TASKS[0],
        trial=0,
        seed=1,
        synthesizer="rollout",
        policy=policy,
        limits=Limits(max_turns=8),
        first_attempt=9,
    )
    journal = Journal(folder / "journal.jsonl")
    try:
        made = run_slots(
            [work],
            lambda work: env(EchoConfig(turns=3)),
            None,
            journal,
            {},
            live_episodes=1,
        )
        return asyncio.run(made)[-1]
    finally:
        journal.close()


def test_echo_itself_is_a_success_by_the_same_way(tmp_path: Path) -> None:
    expert = expert_policy({}, model_name=None, sampling={})
    assert (
        attempt(tmp_path, lambda config: ECHO.open({"turns": 3}), expert).outcome is Outcome.SUCCESS
    )


@pytest.mark.parametrize("name", EVERY)
def test_each_way_of_breaking_it_is_a_fault_that_names_it_and_no_label(
    tmp_path: Path, name: str
) -> None:
    named, env = EVERY[name]
    policy = (
        TALKING
        if name == "answers words with a tool"
        else expert_policy({}, model_name=None, sampling={})
    )
    found = attempt(tmp_path, env, policy)
    assert (found.outcome, found.fault, found.reward, found.check_result) == (
        Outcome.INVALID,
        Fault.ENVIRONMENT,
        None,
        None,
    )
    assert named in str(found.fault_detail)
    assert "\n" not in str(found.fault_detail)


@pytest.mark.parametrize("name", NAMES)
def test_the_audit_finds_and_names_each(name: str) -> None:
    report = asyncio.run(audit(world(name), {"turns": 3}, seed=7, tasks=1, questions=PROTOCOL))
    assert report.failed in (("protocol",), ("tasks",))
    assert EVERY[NAMES[name]][0] in report.answers[0].result


def test_the_audit_finds_a_check_that_changes_the_world() -> None:
    asked = [question for question in QUESTIONS if question.name == "flakiness"]
    spec = EnvEntry(
        ECHO.spec,
        lambda config: CheckEndsTheEpisode(EchoConfig(**config)),
        ECHO.make_tasks,
        EchoConfig,
    )
    report = asyncio.run(audit(spec, {"turns": 3}, seed=7, tasks=1, questions=asked))
    assert report.failed == ("flakiness",)
    assert "check_has_no_side_effects" in report.answers[0].result


@pytest.mark.parametrize(
    "name", ["forgets_the_call_id", "changes_its_task", "ends_without_answering"]
)
def test_forty_eight_attempts_in_such_a_world_give_no_label_and_no_row(
    tmp_path: Path, name: str
) -> None:
    flow = echo_flow(
        env={"name": f"tests.attack.unruly_worlds:{name}", "tasks": 8, "turns": 3},
        stages=[
            {"rollout": {"trials": 6}},
            {"filter": ["solved"]},
            {"export": {"kinds": ["sft", "rl"], "include_scripted": True}},
        ],
    )
    run, reports, _ = run_flow(flow, str(tmp_path / "run"))
    assert reports["rollout"]["outcomes"] == {
        "invalid": 48 * 2
    }  # a fault of a world is tried once more
    sql = "SELECT count(*) FROM trajectories WHERE reward IS NOT NULL OR check_result IS NOT NULL"
    assert query(run.ledger, sql).fetchone() == (0,)
    assert reports["export"]["datasets"]["sft"]["rows"] == 0


async def _by_a_trainer(env: Any) -> float:
    episode = RlEpisode(lambda name, config: env(EchoConfig(turns=3)))
    await episode.reset(TASKS[0])
    for number in range(3):
        call = ToolCall.received(f"c{number}", "echo", '{"text": "maple"}')
        await episode.step(AgentTurn(tool_calls=(call,)))
    return await episode.reward()


@pytest.mark.parametrize("name", [name for name in EVERY if name != "answers words with a tool"])
def test_a_trainer_is_given_no_reward_in_such_a_world(name: str) -> None:
    named, env = EVERY[name]
    with pytest.raises(FaultError, match="environment") as caught:
        asyncio.run(_by_a_trainer(env))
    assert named in caught.value.detail


def test_what_a_world_does_to_its_task_reaches_no_other_episode(tmp_path: Path) -> None:
    attempt(tmp_path, EVERY["changes its task"][1], expert_policy({}, model_name=None, sampling={}))
    assert TASKS[0] == ECHO.make_tasks({"turns": 3}, 1, 2)[0]


IDS = some.sampled_from(["a", "b", "c", "é\ud800", ""])
NAMED = some.sampled_from(["echo", "pay", "é\ud800"])
CALLS = some.lists(
    some.builds(ToolCall.received, IDS, NAMED, some.sampled_from(["{}", "{"])), max_size=4
)
OBSERVATIONS = some.builds(
    Observation,
    some.just("x"),
    some.sampled_from(Source),
    some.none() | IDS,
    some.none() | NAMED,
    some.booleans(),
    some.sampled_from([None, None, None, Wording("x", "m")]),
    some.sampled_from([None, None, None, Planted("x")]),
)


@some.composite
def turns(draw: some.DrawFn) -> tuple[list[ToolCall], tuple[Observation, ...]]:
    """Calls, and answers to them that are sometimes right and mostly nearly so."""
    calls = draw(CALLS)
    right = [
        Observation("ok", Source.TOOL, call.call_id, draw(some.sampled_from([None, call.name])))
        for call in calls
    ]
    right = list(draw(some.permutations(right))) + [Observation("Hm.", Source.USER)] * draw(
        some.integers(0, 1)
    )
    for _ in range(draw(some.integers(0, 2))):
        at = draw(some.integers(0, len(right)))
        match draw(some.sampled_from(["add", "drop", "change", "swap"])):
            case "add":
                right.insert(at, draw(OBSERVATIONS))
            case "drop" if right:
                right.pop(at - 1)
            case "change" if right:
                right[at - 1] = draw(OBSERVATIONS)
            case "swap" if right:
                right.append(right.pop(at - 1))
    return calls, tuple(right)


def keeps_to_the_table(calls: list[ToolCall], observations: tuple[Observation, ...]) -> bool:
    """docs/your-environment.md once more, in other words."""
    by_tools = [one for one in observations if one.source is Source.TOOL]
    by_others = [one for one in observations if one.source is not Source.TOOL]
    left = list(calls)
    for one in by_tools:
        same = [call for call in left if call.call_id == one.call_id]
        if not same:
            return False
        if one.name is not None and one.name not in {
            call.name for call in calls if call.call_id == one.call_id
        }:
            return False
        left.remove(same[0])
    silent = all(one.call_id is None for one in by_others)
    own = all(one.wording is None and one.planted is None for one in observations)
    return not left and silent and own and list(observations) == by_tools + by_others


async def _fault_of(response: Response, calls: list[ToolCall]) -> Fault | None:
    async def given() -> Response:
        return response

    try:
        await stepped(given(), 0, calls)
    except FaultError as error:
        return error.fault
    return None


@settings(max_examples=400)
@given(turns())
def test_any_answer_is_taken_or_a_fault_by_the_table(
    made: tuple[list[ToolCall], tuple[Observation, ...]],
) -> None:
    calls, observations = made
    found = asyncio.run(_fault_of(Response(observations), calls))
    assert found is (None if keeps_to_the_table(calls, observations) else Fault.ENVIRONMENT)
