"""A user who speaks freely: the world leaves the line to a model, which ends the talk; nobody is
shown that a line was left open.
"""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from synth.branching import replay
from synth.ledger.storage.journal import Journal, recorded
from synth.models.registry import open_model
from synth.models.settings import ModelSettings
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.resumption import Resumption
from synth.rollout.slots import run_slots
from synth.rollout.user_lines import UserSimulator
from synth.schemas.environment import AgentTurn, Response
from synth.schemas.model import Completion
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.policy import OPEN_LINE, Act, Episode, Policy, PolicySpec, User, View
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import (
    Authorship,
    Observation,
    SampledBy,
    Source,
    ToolCall,
    Trajectory,
    Turn,
)
from tests.synth.models.chat_server import ChatServer
from tests.synth.models.user_brains import said
from tests.synth.rollout.free_talk import BYE, Bar, Guest, task


class Waiter:
    """Asks, serves tea, tells, and goes on telling."""

    async def act(self, view: View) -> Act:
        at = len(view.turns) - 1
        if at == 1:
            call = ToolCall.received("c1", "serve", '{"drink": "tea"}')
            return Act(turn=AgentTurn(tool_calls=(call,)))
        return Act(turn=AgentTurn(("What do you want?", "", "Here it is.")[min(at, 2)]))


def waiter(episode: Episode) -> Policy:
    return Waiter()


SERVES = PolicySpec(name="waiter", identity={}, open=waiter, authorship=Authorship.SCRIPTED)


def told(body: dict[str, Any]) -> list[str]:
    """What the guest's model is asked about: the goal, then what was said to the guest."""
    return list(json.loads(body["messages"][0]["content"]))


def guest(body: dict[str, Any]) -> dict[str, Any]:
    words = told(body)
    return said(f"After {words[-1]} {BYE if words[-1] == 'Here it is.' else ''}".strip())


def played(
    folder: Path, url: str | None, events: Any = None, most: int = 9, **user: Any
) -> Trajectory:
    async def fill() -> list[Trajectory]:
        who = None
        if url is not None:
            asked = {"model": "test-user", "base_url": url, "max_retries": 0, "timeout_s": 5}
            model = open_model(ModelSettings.model_validate(asked))
            who = User(model=model, name="test-user", script=Guest(), **user)
        work = EpisodeSpec(
            slot_id="slot",
            task=task(),
            trial=0,
            seed=1,
            synthesizer="rollout",
            policy=SERVES,
            limits=Limits(max_turns=most),
            user=who,
        )
        journal = Journal(folder / "journal" / "s.jsonl")
        try:
            return await run_slots(
                [work], lambda work: Bar(), None, journal, events or {}, live_episodes=1
            )
        finally:
            journal.close()
            if who is not None:
                await who.model.close()

    return asyncio.run(fill())[-1]


def test_the_model_says_it_and_ends_the_talk(tmp_path: Path) -> None:
    with ChatServer(guest) as server:
        trial = played(tmp_path, server.url)
        assert [told(body) for body in server.bodies] == [
            ["You want tea.", "Hello?"],
            ["You want tea.", "Hello?", "What do you want?"],
            ["You want tea.", "Hello?", "What do you want?", "Here it is."],
        ]
    spoken = [one["content"] for one in to_messages(trial) if one["role"] == "user"]
    assert spoken == ["After Hello?", "After What do you want?", f"After Here it is. {BYE}"]
    assert (trial.outcome, trial.termination) == (Outcome.SUCCESS, Termination.DONE)
    assert trial.user_totals.calls == 3
    assert OPEN_LINE not in json.dumps(to_messages(trial))


def test_it_is_replayed_without_the_model_and_ends_where_the_user_ended_it(tmp_path: Path) -> None:
    with ChatServer(guest) as server:
        trial = played(tmp_path, server.url)
    again = asyncio.run(replay(Bar(), task(), trial))
    assert again.matched, again.first_difference
    longer = msgspec.structs.replace(trial, turns=(*trial.turns, trial.turns[-1]))
    assert asyncio.run(replay(Bar(), task(), longer)).matched, "words change nothing here"
    served = msgspec.structs.replace(trial.turns[2], state_key="beer")
    other = msgspec.structs.replace(trial, turns=(*trial.turns[:2], served, *trial.turns[3:]))
    assert not asyncio.run(replay(Bar(), task(), other)).matched


def test_a_note_of_the_world_behind_the_last_words_changes_nothing(tmp_path: Path) -> None:
    class Noted(Bar):
        async def step(self, turn: AgentTurn) -> Response:
            response = await super().step(turn)
            note = () if turn.tool_calls else (Observation("It rains.", Source.ENVIRONMENT),)
            return msgspec.structs.replace(response, observations=(*response.observations, *note))

    with ChatServer(guest) as server:
        trial = played(tmp_path, server.url)
    noted = Observation("It rains.", Source.ENVIRONMENT)
    turns = [
        turn
        if turn.sampled_by is SampledBy.CANNED or turn.tool_calls
        else msgspec.structs.replace(turn, observations=(*turn.observations, noted))
        for turn in trial.turns
    ]
    again = asyncio.run(replay(Noted(), task(), msgspec.structs.replace(trial, turns=tuple(turns))))
    assert again.matched, again.first_difference


def test_a_talk_is_over_though_the_world_asks_for_more_words() -> None:
    class Twice:
        name = "twice"

        def __init__(self) -> None:
            self.words = iter([f"Thanks. {BYE}", "And?"])

        async def complete(self, *_: Any) -> Completion:
            return Completion(content=next(self.words))

    user = User(model=Twice(), name="twice", script=Guest())
    journal: Any = SimpleNamespace(append=lambda _: None)
    simulator = UserSimulator(
        user, Episode(Bar(), None, 0, 1), task(), Resumption("s", 0, [], journal), lambda _: None
    )
    line = Observation(OPEN_LINE, Source.USER)
    asyncio.run(simulator.worded([], Turn(1, "Here.", (), (line, line))))
    assert simulator.ended


def test_a_talk_that_nobody_ends_ends_at_the_limit(tmp_path: Path) -> None:
    with ChatServer(lambda body: said("Go on.")) as server:
        trial = played(tmp_path, server.url, most=5)
    assert (trial.outcome, trial.termination) == (Outcome.TRUNCATED, Termination.TURN_LIMIT)


def test_without_a_model_no_agent_is_shown_an_open_line(tmp_path: Path) -> None:
    trial = played(tmp_path, None)
    assert (trial.outcome, trial.fault) == (Outcome.INVALID, Fault.USER_SIMULATOR)
    assert "name a model" in (trial.fault_detail or "")
    assert trial.turns == ()


def test_a_model_that_ends_the_talk_before_it_began_is_a_fault(tmp_path: Path) -> None:
    with ChatServer(lambda body: said(f"Never mind. {BYE}")) as server:
        trial = played(tmp_path, server.url)
    assert (trial.outcome, trial.fault) == (Outcome.INVALID, Fault.USER_SIMULATOR)
    assert "before it began" in (trial.fault_detail or "")


def test_a_model_that_says_nothing_is_a_fault_whatever_the_role_says(tmp_path: Path) -> None:
    with ChatServer(lambda body: said("")) as server:
        trial = played(tmp_path, server.url, rewordings=1, unfit="script")
    assert (trial.outcome, trial.fault) == (Outcome.INVALID, Fault.USER_SIMULATOR)
    assert "silent" in (trial.fault_detail or "")


def test_what_was_said_before_an_interruption_is_not_asked_for_again(tmp_path: Path) -> None:
    with ChatServer(guest) as server:
        first = played(tmp_path, server.url)
        asked = len(server.bodies)
        events, _ = recorded(tmp_path / "journal")
        again = played(tmp_path / "again", server.url, events)
        assert len(server.bodies) == asked > 0
    assert [turn.observations for turn in again.turns] == [
        turn.observations for turn in first.turns
    ]
