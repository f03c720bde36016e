"""Recorded wordings: replayed, resumed at any line, and shown to agents and trainers."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from benchmarks.truth.monitor import truth_of
from synth.branching import DriftError, branch, replay
from synth.envs.storefront import WORLD
from synth.filters.reexecuted import ReexecutedConfig, reexecuted
from synth.ledger.storage.journal import JournaledReply, recorded
from synth.schemas.filtering import Case
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import Trajectory, Turn, Usage
from tests.synth.canonical_content import canonical_content
from tests.synth.models.chat_mishaps import Mishap
from tests.synth.models.chat_server import ChatServer
from tests.synth.models.user_brains import (
    asking_agent,
    at_first,
    faithful,
    moody,
    said,
)
from tests.synth.rollout.dialogues import TASKS, as_given, played
from tests.synth.rollout.user_line_runs import calls_of, spoken

pytestmark = pytest.mark.slow


def doings(turn: Turn) -> object:
    """What was done and answered in a turn, in the customer's scripted words."""
    return turn.content, turn.tool_calls, as_given(turn).observations, turn.state_key


def test_replay_branch_filter_recheck_and_monitor_ask_no_model(tmp_path: Path) -> None:
    with ChatServer(moody()) as server:
        trajectories = played(tmp_path, server.url)
    for task, trajectory in zip(TASKS, trajectories, strict=True):
        assert asyncio.run(replay(WORLD.open(task.env_config), task, trajectory)).matched
        case = Case(trajectory, task, lambda name, config: WORLD.open(config))
        assert asyncio.run(reexecuted(case, ReexecutedConfig())).keep
        env = WORLD.open(task.env_config)
        opening = asyncio.run(branch(env, task, trajectory, len(trajectory.turns) - 1))
        assert opening.observations == trajectory.opening
        assert asyncio.run(env.recheck(task, trajectory)) == trajectory.check_result
        truth = asyncio.run(truth_of(task, trajectory))
        assert (truth.passed, truth.lucky) == (True, False)


def test_scripted_words_that_were_changed_in_the_record_are_drift(tmp_path: Path) -> None:
    with ChatServer(faithful) as server:
        (trajectory,) = played(tmp_path, server.url, TASKS[:1])
    at = next(
        turn.index
        for turn in trajectory.turns
        for seen in turn.observations
        if seen.wording is not None
    )
    changed = msgspec.json.decode(
        msgspec.json.encode(trajectory).replace(b'"scripted":"My ', b'"scripted":"Your ', 1),
        type=Trajectory,
    )
    assert changed != trajectory
    with pytest.raises(DriftError, match=f"turn {at}"):
        asyncio.run(branch(WORLD.open(TASKS[0].env_config), TASKS[0], changed, len(changed.turns)))


def test_resumed_at_any_line_of_the_journal_recorded_replies_are_said_again_and_others_asked_for(
    tmp_path: Path,
) -> None:
    with ChatServer(moody()) as server:
        (whole,) = played(tmp_path / "whole", server.url, TASKS[1:2])
    lines = (tmp_path / "whole" / "journal" / "s.jsonl").read_bytes().splitlines(keepends=True)
    calls = calls_of(whole)
    assert calls > 4
    for cut in [*range(1, len(lines), 4), len(lines)]:
        folder = tmp_path / str(cut)
        (folder / "journal").mkdir(parents=True)
        (folder / "journal" / "s.jsonl").write_bytes(b"".join(lines[:cut]))
        events, damage = recorded(folder / "journal")
        kept = sum(
            isinstance(event, JournaledReply) for found in events.values() for event in found
        )
        with ChatServer(moody()) as server:
            (resumed,) = played(folder, server.url, TASKS[1:2], events=events)
            assert server.counts()["total"] == calls - kept
        assert damage == []
        assert spoken(resumed)[:kept] == spoken(whole)[:kept]
        assert [as_given(turn) for turn in resumed.turns] == [
            as_given(turn) for turn in whole.turns
        ]
        if cut == len(lines):
            assert canonical_content(resumed) == canonical_content(whole)


def test_an_agent_that_is_a_model_keeps_its_own_tokens_turns_and_prompts(tmp_path: Path) -> None:
    with ChatServer(asking_agent) as agent, ChatServer(faithful) as server:
        (trajectory,) = played(tmp_path, server.url, TASKS[:1], agent_url=agent.url)
        prompts = [
            [m["content"] for m in body["messages"] if m["role"] == "user"] for body in agent.bodies
        ]
    assert (trajectory.totals.calls, calls_of(trajectory)) == (4, 3)
    assert trajectory.totals == sum(
        (turn.usage for turn in trajectory.turns if turn.usage is not None), Usage()
    )
    assert [turn.mask for turn in trajectory.turns] == [None] * 4
    assert prompts[-1] == [trajectory.opening[0].content, *spoken(trajectory)]
    assert all(text.startswith("Hello. ") for text in prompts[-1][1:])


def test_with_two_models_an_attempt_resumes_at_any_line_and_neither_is_asked_twice(
    tmp_path: Path,
) -> None:
    with ChatServer(asking_agent) as agent, ChatServer(moody()) as server:
        (whole,) = played(tmp_path / "whole", server.url, TASKS[:1], agent_url=agent.url)
    lines = (tmp_path / "whole" / "journal" / "s.jsonl").read_bytes().splitlines(keepends=True)
    assert sum(b'"type":"reply"' in line for line in lines) == 7
    for cut in range(1, len(lines) + 1):
        folder = tmp_path / str(cut)
        (folder / "journal").mkdir(parents=True)
        (folder / "journal" / "s.jsonl").write_bytes(b"".join(lines[:cut]))
        events, _ = recorded(folder / "journal")
        kept = sum(
            isinstance(event, JournaledReply) for found in events.values() for event in found
        )
        with ChatServer(asking_agent) as agent, ChatServer(moody()) as server:
            (resumed,) = played(folder, server.url, TASKS[:1], agent_url=agent.url, events=events)
            assert agent.counts()["total"] + server.counts()["total"] == 7 - kept
        assert list(map(doings, resumed.turns)) == list(map(doings, whole.turns))
    assert canonical_content(resumed) == canonical_content(whole)


def test_a_fault_of_the_user_ends_the_resumed_attempt_at_the_same_place_without_asking(
    tmp_path: Path,
) -> None:
    answers = [None] * 4  # turn 14 has two lines: the second breaks
    with ChatServer(faithful, mishaps=[*answers, Mishap("disconnect")]) as server:
        first, second = played(tmp_path / "first", server.url, TASKS[3:4])
    lines = (tmp_path / "first" / "journal" / "s.jsonl").read_bytes().splitlines(keepends=True)
    upto = next(at for at, line in enumerate(lines) if b'"fault"' in line) + 1
    (tmp_path / "again" / "journal").mkdir(parents=True)
    (tmp_path / "again" / "journal" / "s.jsonl").write_bytes(b"".join(lines[:upto]))
    events, _ = recorded(tmp_path / "again" / "journal")
    with ChatServer(faithful) as server:
        again, after = played(tmp_path / "again", server.url, TASKS[3:4], events=events)
        assert server.counts()["total"] == calls_of(second)
    assert calls_of(first) == len(answers)
    assert canonical_content(again) == canonical_content(first)
    assert canonical_content(after) == canonical_content(second)


def test_what_an_agent_and_a_trainer_are_shown_is_the_wording_and_nothing_about_it(
    tmp_path: Path,
) -> None:
    with ChatServer(at_first(lambda line: said(f"{line} Goodbye!"))) as server:
        (trajectory,) = played(tmp_path, server.url, TASKS[:1])
    users = [message for message in to_messages(trajectory) if message["role"] == "user"]
    assert all(set(message) == {"role", "content"} for message in users)
    assert all(message["content"].startswith("Hello. ") for message in users[1:-1])
