"""A model behind a server without a parser for calls: whatever form it writes them in, it plays;
what cannot be read is a fault, and never a failure.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from synth.envs.echo import WORLD
from synth.ledger.storage.journal import Journal
from synth.loss_turns import turns_without_loss
from synth.models.registry import open_model
from synth.models.replies.reply import read_replies
from synth.models.server_error import ServerError
from synth.models.settings import ModelSettings
from synth.policies.chat import chat_policy
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import run_slots
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.trajectory import Trajectory
from synth.text.calls.reading import MARKS
from tests.synth.models.chat_brains import Body, echo_expert
from tests.synth.models.chat_server import ChatServer, Mishap
from tests.synth.text.calls.written import FORMS

TASKS = WORLD.make_tasks({"turns": 2}, 1, 1)
Brain = Callable[[Body], dict[str, Any]]


def raw(form: str, before: str = "") -> Brain:
    """The expert of the echo world, as a server without a parser hands its replies on."""

    def brain(body: Body) -> dict[str, Any]:
        message = echo_expert(body)
        texts = [
            FORMS[form](call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in message.get("tool_calls", ())
        ]
        return {"role": "assistant", "content": before + ("\n".join(texts) or message["content"])}

    return brain


def saying(text: str) -> Brain:
    return lambda body: {"role": "assistant", "content": text}


def played(
    brain: Brain, tmp_path: Path, mishaps: Sequence[Mishap | None] = (), **settings: Any
) -> list[Trajectory]:
    """All attempts at one task of the echo world."""
    work = EpisodeSpec(
        slot_id="s",
        task=TASKS[0],
        trial=0,
        seed=1,
        synthesizer="rollout",
        policy=chat_policy({}, model_name="test-model", sampling={}),
        limits=Limits(max_turns=6),
    )

    async def run(url: str) -> list[Trajectory]:
        model = open_model(ModelSettings(base_url=url, model="test-model", **settings))
        journal = Journal(tmp_path / "journal.jsonl")
        try:
            world = lambda work: WORLD.open({"turns": 2})  # noqa: E731
            return await run_slots([work], world, model, journal, {}, live_episodes=1)
        finally:
            journal.close()
            await model.close()

    with ChatServer(brain, mishaps=mishaps) as server:
        return asyncio.run(run(server.url))


@pytest.mark.parametrize("form", FORMS)
def test_an_expert_solves_the_task_in_every_form_and_no_mark_stays_in_what_carries_loss(
    form: str, tmp_path: Path
) -> None:
    (trajectory,) = played(raw(form), tmp_path)
    assert (trajectory.outcome, trajectory.fault) == (Outcome.SUCCESS, None)
    assert [MARKS.search(turn.content or "") for turn in trajectory.turns] == [None] * 3
    assert turns_without_loss(trajectory) == {}


def test_a_half_call_is_a_fault_of_parsing_and_no_failure(tmp_path: Path) -> None:
    attempts = played(saying('<tool_call>\n{"name": "echo", "arguments": {"text": "a'), tmp_path)
    assert {(one.outcome, one.fault) for one in attempts} == {(Outcome.INVALID, Fault.PARSER)}
    assert len(attempts) == 2
    assert "a call begins in the reply" in (attempts[0].fault_detail or "")


def test_a_mark_in_a_sentence_is_the_agents_and_carries_no_loss(tmp_path: Path) -> None:
    (trajectory,) = played(saying("I would write <tool_call> first."), tmp_path)
    assert trajectory.fault is None
    assert set(turns_without_loss(trajectory).values()) == {"call_markup"}


def test_a_call_of_an_unknown_tool_is_answered_by_an_error_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    (trajectory,) = played(saying(FORMS["deepseek_v3"]("fly", {})), tmp_path)
    assert trajectory.turns[0].observations[0].error
    assert len(trajectory.turns) > 1


def test_calls_of_one_reply_that_build_on_each_other_are_made_in_their_order(
    tmp_path: Path,
) -> None:
    """The last of them ends the episode, which is solved only by what those before it did."""

    def brain(body: Body) -> dict[str, Any]:
        goal = next(one["content"] for one in body["messages"] if one["role"] == "user")
        words = goal.rpartition(": ")[2].split()
        calls = [("echo", {"text": word}) for word in words] + [("finish", {})]
        texts = [FORMS["deepseek_v31"](*call) for call in calls]
        return {"role": "assistant", "content": "\n".join(texts)}

    (trajectory,) = played(brain, tmp_path)
    assert trajectory.outcome is Outcome.SUCCESS
    (turn,) = trajectory.turns
    assert [call.name for call in turn.tool_calls] == ["echo", "echo", "finish"]
    answered = [one.call_id for one in turn.observations if one.call_id is not None]
    assert answered == [call.call_id for call in turn.tool_calls]
    assert len(set(answered)) == 3


def test_a_context_that_is_full_when_a_call_is_tried_again_truncates_and_is_no_fault(
    tmp_path: Path,
) -> None:
    mishaps = [None, Mishap("status", status=500), Mishap("context_length")]
    (trajectory,) = played(raw("hermes"), tmp_path, mishaps=mishaps)
    assert (trajectory.termination, trajectory.outcome) == (
        Termination.CONTEXT_LIMIT,
        Outcome.TRUNCATED,
    )
    assert (trajectory.fault, len(trajectory.turns)) == (None, 1)


def test_thinking_that_the_server_left_in_the_content_is_the_turns_thought(tmp_path: Path) -> None:
    (trajectory,) = played(raw("hermes", "<think>\nI echo it.\n</think>\n"), tmp_path)
    assert trajectory.outcome is Outcome.SUCCESS
    assert {turn.thought for turn in trajectory.turns} == {"I echo it."}
    assert not any("think" in (turn.content or "") for turn in trajectory.turns)


def test_a_reply_of_which_a_parser_left_nothing_is_the_servers_fault(tmp_path: Path) -> None:
    body = {
        "choices": [{"message": {"role": "assistant", "content": ""}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 90},
    }
    with pytest.raises(ServerError, match="90 tokens were drawn, and nothing of them is in it"):
        read_replies(json.dumps(body).encode(), [])
    body["usage"]["completion_tokens"] = 1  # type: ignore[index]
    (reply,) = read_replies(json.dumps(body).encode(), [])
    assert reply.content == ""
