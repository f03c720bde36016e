"""Episodes that begin from a branch: what they repeat, what is put in the policy's place, what is
whispered and recorded nowhere.
"""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.branching import replay
from synth.envs.echo import WORLD
from synth.ledger.storage.journal import Journal
from synth.policies.chat import chat_policy
from synth.policies.scripted import expert_policy
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import run_slots
from synth.rollout.start import BranchPoint, ForcedAct, recorded_act
from synth.schemas.environment import AgentTurn
from synth.schemas.model import Completion, Message
from synth.schemas.outcome import Fault, Outcome
from synth.schemas.policy import Act
from synth.schemas.trajectory import Observation, SampledBy, ToolCall, Trajectory, Usage
from tests.synth.models.scripted import ScriptedChat

CONFIG: dict[str, Any] = {"turns": 3}
(TASK,) = WORLD.make_tasks(CONFIG, 1, 1)
EXPERT = expert_policy({}, model_name=None, sampling={})
HASTY = expert_policy({"profiles": "stops_early"}, model_name=None, sampling={})
CHAT = chat_policy({}, model_name="m", sampling={})


def played(tmp_path: Path, work: EpisodeSpec, model: ScriptedChat | None = None) -> Trajectory:
    journal = Journal(tmp_path / "journal.jsonl")
    try:
        trajectories = asyncio.run(
            run_slots(
                [work],
                lambda work: WORLD.open(CONFIG),
                model,
                journal,
                {},
                live_episodes=1,
            )
        )
    finally:
        journal.close()
    return trajectories[-1]


def base_of(tmp_path: Path, **changes: Any) -> Trajectory:
    given: dict[str, Any] = {
        "slot_id": "base",
        "task": TASK,
        "trial": 0,
        "seed": 1,
        "synthesizer": "rollout",
        "policy": EXPERT,
    }
    return played(tmp_path, EpisodeSpec(**given | {"limits": Limits()} | changes))


def branched(start: BranchPoint, **changes: Any) -> EpisodeSpec:
    given: dict[str, Any] = {
        "slot_id": "branch",
        "task": TASK,
        "trial": 0,
        "seed": 1,
        "synthesizer": "branch",
        "policy": EXPERT,
    }
    return EpisodeSpec(**given | {"limits": Limits(), "start": start} | changes)


def echo(text: str) -> Act:
    return Act(
        turn=AgentTurn(
            tool_calls=(
                ToolCall.received("c", "echo", msgspec.json.encode({"text": text}).decode()),
            )
        )
    )


def test_a_branch_repeats_the_prefix_masked_and_unpaid_and_goes_on_live(tmp_path: Path) -> None:
    base = base_of(tmp_path)
    paid = replace(
        base, turns=tuple(replace(turn, usage=Usage(100, 10, 0, 1)) for turn in base.turns)
    )
    found = played(tmp_path, branched(BranchPoint(paid, 2)))
    assert (found.outcome, found.parent_id, found.pivot_turn) == (
        Outcome.SUCCESS,
        base.trajectory_id,
        2,
    )
    assert [turn.mask for turn in found.turns[:3]] == ["before_pivot", "before_pivot", None]
    assert [turn.content for turn in found.turns] == [turn.content for turn in base.turns]
    assert found.totals == Usage()


def test_a_turn_put_in_the_policys_place_changes_what_follows_and_says_so(tmp_path: Path) -> None:
    base = base_of(tmp_path)
    wrong = ForcedAct(
        act=replace(echo("wrong"), sampled_by=SampledBy.INJECTED),
        mask="injected",
        injected="FM-1.1",
    )
    found = played(tmp_path, branched(BranchPoint(base, 1, (wrong,)), limits=Limits(max_turns=8)))
    assert found.turns[1].injected == "FM-1.1"
    assert (found.turns[1].mask, found.turns[1].sampled_by) == ("injected", SampledBy.INJECTED)
    assert found.turns[1].observations != base.turns[1].observations
    assert found.turns[2].sampled_by is SampledBy.POLICY


def test_the_recorded_turn_put_back_gives_the_recorded_trajectory(tmp_path: Path) -> None:
    base = base_of(tmp_path)
    own = ForcedAct(act=recorded_act(base.turns[1]), mask="replayed")
    found = played(tmp_path, branched(BranchPoint(base, 1, (own,))))
    assert [(t.content, t.tool_calls, t.observations, t.state_key) for t in found.turns] == [
        (t.content, t.tool_calls, t.observations, t.state_key) for t in base.turns
    ]


def test_a_planted_fault_is_what_the_agent_is_shown_and_not_what_the_world_is(
    tmp_path: Path,
) -> None:
    base = base_of(tmp_path)
    seen: list[list[Message]] = []

    def answer(messages: Any, tools: Any) -> Completion:
        seen.append(list(messages))
        return Completion(
            tool_calls=(ToolCall.received("d", "finish", "{}"),), finish_reason="tool_calls"
        )

    def corrupted(given: tuple[Observation, ...]) -> tuple[Observation, ...]:
        return tuple(
            replace(observation, content="503 service unavailable", error=True)
            for observation in given
        )

    put = ForcedAct(
        act=recorded_act(base.turns[0]), mask="replayed", injected="tool_error", alter=corrupted
    )
    found = played(
        tmp_path, branched(BranchPoint(base, 0, (put,)), policy=CHAT), ScriptedChat(answer)
    )
    (observation,) = found.turns[0].observations
    assert (observation.content, observation.error) == ("503 service unavailable", True)
    assert observation.as_given() == base.turns[0].observations[0]
    assert "503 service unavailable" in [message.get("content") for message in seen[0]]
    again = asyncio.run(replay(WORLD.open(CONFIG), TASK, found))
    assert again.matched


def test_a_world_that_answers_otherwise_than_recorded_is_drift_and_no_label(tmp_path: Path) -> None:
    base = base_of(tmp_path)
    other = replace(
        base.turns[0], observations=(replace(base.turns[0].observations[0], content="else"),)
    )
    found = played(
        tmp_path, branched(BranchPoint(replace(base, turns=(other, *base.turns[1:])), 1))
    )
    assert (found.outcome, found.fault) == (Outcome.INVALID, Fault.DRIFT)
    assert "turn 0" in (found.fault_detail or "")


def whispered(tmp_path: Path, turn: int) -> tuple[list[list[Message]], Trajectory]:
    base, seen = base_of(tmp_path), list[list[Message]]()

    def answer(messages: Any, tools: Any) -> Completion:
        seen.append(list(messages))
        finish = (ToolCall.received("d", "finish", "{}"),)
        return Completion(
            tool_calls=finish,
            finish_reason="tool_calls",
            prompt_token_ids=(1, 2),
            completion_token_ids=(3,),
            logprobs=(-0.1,),
        )

    work = branched(
        BranchPoint(base, turn),
        policy=CHAT,
        guidance="Look twice at the words.",
        gold_informed=True,
    )
    return seen, played(tmp_path, work, ScriptedChat(answer))


def test_guidance_for_a_later_turn_is_a_system_message_before_it_and_in_no_transcript(
    tmp_path: Path,
) -> None:
    seen, found = whispered(tmp_path, 2)
    roles = [(message["role"], message.get("content")) for message in seen[0]]
    assert roles[-1] == ("system", "Look twice at the words.")
    assert (found.guidance, found.gold_informed) == ("Look twice at the words.", True)
    without = replace(found, guidance=None)
    assert "Look twice" not in msgspec.json.encode(without).decode()


def test_guidance_for_the_first_turn_stands_in_the_system_prompt_of_the_calls_alone(
    tmp_path: Path,
) -> None:
    seen, found = whispered(tmp_path, 0)
    assert seen[0][0]["role"] == "system"
    assert str(seen[0][0]["content"]).endswith("\n\nLook twice at the words.")
    assert [message["role"] for message in seen[0]].count("system") == 1
    assert "Look twice" not in (found.system_prompt or "")


def test_tokens_that_stand_on_a_whispered_prompt_are_not_kept(tmp_path: Path) -> None:
    _, found = whispered(tmp_path, 1)
    own = found.turns[-1]
    assert (own.prompt_token_ids, own.logprobs, own.completion_token_ids) == (None, None, (3,))


def test_an_expert_is_rid_of_the_misconception_that_guidance_names_and_of_no_other(
    tmp_path: Path,
) -> None:
    base = base_of(tmp_path, policy=HASTY)
    assert base.outcome is not Outcome.SUCCESS
    guided = played(
        tmp_path,
        branched(
            BranchPoint(base, 0), policy=HASTY, guidance="You stopped too soon (stops_early)."
        ),
    )
    other = played(
        tmp_path,
        branched(
            BranchPoint(base, 0),
            policy=HASTY,
            slot_id="other",
            guidance="Do not repeat yourself (stutters).",
        ),
    )
    assert (guided.outcome, other.outcome) == (Outcome.SUCCESS, base.outcome)
