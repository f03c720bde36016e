"""Turns that were not written to their end: a fault for any engine, masked where the table says so,
and never in a journal.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from synth.envs.echo import WORLD as ECHO
from synth.flows.environments import bindings_of
from synth.ledger.storage.journal import Journal, JournaledReply
from synth.models.reply_health import mask_of
from synth.policies.chat import chat_policy
from synth.rollout.attempt import run_attempt
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.resumption import JournaledModel, Resumption
from synth.schemas.environment import AgentTurn, Response
from synth.schemas.model import Completion, Message, Sampling
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.trajectory import ToolCall, ToolSchema

ASKED: list[Message] = [{"role": "user", "content": "say: a b c"}]


class Told:
    """A chat model of somebody's own that says what it is given."""

    name = "told"

    def __init__(self, *replies: Completion) -> None:
        self.replies = list(replies)

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], sampling: Sampling
    ) -> Completion:
        return self.replies.pop(0)

    async def close(self) -> None:
        return


class Quiet:
    """The echo world, but that it answers no words."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._env = ECHO.open(settings)
        self.spec, self.reset, self.check, self.close = (
            self._env.spec,
            self._env.reset,
            self._env.check,
            self._env.close,
        )

    async def step(self, turn: AgentTurn) -> Response:
        return await self._env.step(turn) if turn.tool_calls else Response(())


def played(tmp_path: Any, *replies: Completion) -> Any:
    """One attempt at a task of the echo world, by a model that says this."""
    (task,) = bindings_of({}).make_tasks("echo", {"turns": 1}, 5, 1)
    policy = chat_policy({}, model_name="told", sampling={})
    work = EpisodeSpec(
        slot_id="s",
        task=task,
        trial=0,
        seed=0,
        synthesizer="rollout",
        policy=policy,
        limits=Limits(),
    )
    journal = Journal(tmp_path / "journal.jsonl")
    try:
        return asyncio.run(
            run_attempt(
                work,
                lambda: Quiet(task.env_config),
                Told(*replies),
                Resumption("s", 0, (), journal),
            )
        )
    finally:
        journal.close()


@pytest.mark.parametrize("word", ["error", "abort", "", "cancelled"])
def test_an_engine_of_ones_own_is_held_to_the_table_and_its_bad_reply_is_never_journaled(
    word: str, tmp_path: Any
) -> None:
    found = played(tmp_path, Completion(content="half a wo", finish_reason=word))
    assert (found.outcome, found.fault, found.reward, found.turns) == (
        Outcome.INVALID,
        Fault.MODEL,
        None,
        (),
    )
    assert b"half a wo" not in (tmp_path / "journal.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("word", "mask", "termination"),
    [
        ("length", "cut_off", Termination.TOKEN_LIMIT),
        ("repetition", "cut_off", Termination.TOKEN_LIMIT),
        ("content_filter", "content_filter", Termination.REFUSED),
        ("stop", None, Termination.AGENT_STOP),
    ],
)
def test_what_was_cut_off_or_filtered_carries_no_loss_and_a_cut_is_no_stop(
    word: str, mask: str | None, termination: Termination, tmp_path: Any
) -> None:
    found = played(tmp_path, Completion(content="half a wo", finish_reason=word))
    assert found.fault is None, found.fault_detail
    assert (found.termination, found.outcome is Outcome.TRUNCATED) == (
        termination,
        mask == "cut_off",
    )
    assert [turn.mask for turn in found.turns] == [mask]
    assert mask_of(word) == mask


def test_a_bad_reply_that_an_earlier_version_journaled_is_asked_for_again(tmp_path: Any) -> None:
    good = Completion(content="whole", finish_reason="stop")
    call = ToolCall.received("c", "f", "{}")
    journal = Journal(tmp_path / "journal.jsonl")
    first = JournaledModel(Told(good), Resumption("s", 0, (), journal))
    asyncio.run(first.complete(ASKED, (), Sampling()))
    (line,) = (tmp_path / "journal.jsonl").read_bytes().splitlines()
    request = msgspec.json.decode(line[9:])["request"]
    bad = JournaledReply(
        "s", 0, 0, request, Completion(content="half", tool_calls=(call,), finish_reason="abort")
    )
    again = JournaledModel(Told(good), Resumption("s", 0, (bad,), journal))
    assert asyncio.run(again.complete(ASKED, (), Sampling())) == good
    journal.close()
