"""A model reflects: what it may say, what becomes of it, what is asked for once only."""

import json
from pathlib import Path
from typing import Any

import pytest

from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.outcome import Outcome
from synth.schemas.text.messages import to_messages
from synth.synthesizers.reflection.chain_rows import CHAIN, REFLECTION
from synth.synthesizers.reflection.guidance import guided_messages
from tests.flow_files import run_flow
from tests.synth.models.chat_brains import Body
from tests.synth.models.chat_server import ChatServer, Mishap
from tests.synthesizers.reflection.desk import (
    DIAGNOSIS,
    LESSON,
    asks_for_reflection,
    details,
    diagnosis,
    reflecting_flow,
    stutterer,
)

pytestmark = pytest.mark.slow

BAD = {
    "prose": "I think that it was careless.",
    "cut off": diagnosis()[:-20],
    "wrong type": diagnosis(retry_from_step=1.5),
    "out of range": diagnosis(retry_from_step=99),
    "missing": json.dumps(
        {key: value for key, value in DIAGNOSIS.items() if key != "retry_from_step"}
    ),
    "unknown outcome": diagnosis(trajectory_outcome="so-so"),
    "empty": "",
    "success with a step": diagnosis(trajectory_outcome="success", improvement_suggestion=None),
    "not an object": "[1, 2]",
    "boolean": diagnosis(retry_from_step=True),
}


def retries(ledger: StoredLedger) -> list[Any]:
    return [
        trajectory
        for trajectory in ledger.trajectories()
        if trajectory.synthesizer == "reflect_retry"
    ]


def test_a_failed_trial_is_played_again_from_the_diagnosed_turn_with_the_lesson_whispered(
    tmp_path: Path,
) -> None:
    with ChatServer(stutterer()) as server:
        run, reports, _ = run_flow(reflecting_flow(server.url), str(tmp_path / "run"))
        bodies = [
            body
            for body in server.bodies
            if any(LESSON in str(m["content"]) for m in body["messages"])
        ]
    report = reports["reflect_retry"]
    assert (report["attempted"], report["verified"]) == (2, 2)
    assert (report["rejected"], report["gold_informed"]) == ({}, False)
    bases = {t.trajectory_id: t for t in run.ledger.trajectories() if t.synthesizer == "rollout"}
    assert {base.outcome for base in bases.values()} == {Outcome.FAILURE}
    for retry in retries(run.ledger):
        base = bases[retry.parent_id]
        assert (retry.outcome, retry.pivot_turn, retry.task_id, retry.trial) == (
            Outcome.SUCCESS,
            1,
            base.task_id,
            base.trial,
        )
        assert [turn.mask for turn in retry.turns] == ["before_pivot", None, None, None]
        assert [turn.observations for turn in retry.turns[:1]] == [
            turn.observations for turn in base.turns[:1]
        ]
        assert LESSON in retry.guidance
        assert LESSON not in json.dumps(to_messages(retry))
        seen = guided_messages(retry)
        asked = [
            body["messages"]
            for body in bodies
            if len(body["messages"]) == len(seen) - 2 and body["messages"][-1] == seen[-3]
        ]
        assert [m["content"] for m in asked[0]] == [m["content"] for m in seen[:-2]], (
            "rebuilt as the policy saw it"
        )


def test_reflections_and_their_replies_are_kept_with_what_they_led_to(tmp_path: Path) -> None:
    with ChatServer(stutterer()) as server:
        run, _, _ = run_flow(reflecting_flow(server.url), str(tmp_path / "run"))
    for found in details(run.ledger, REFLECTION):
        assert found["reflection"] == DIAGNOSIS | {"retry_from_step": 1}
        assert (
            found["attempt"],
            found["pivot"],
            found["r1"],
            found["r2"],
            found["steps1"],
            found["leaks"],
        ) == (1, 1, 0.0, 1.0, 4, [])
        assert found["memo"]["next_strategy"] == LESSON
        assert found["memo"]["commands"][0].startswith('echo {"text":')
    with connect(run.ledger) as connection:
        replies = connection.execute(
            "SELECT role, purpose, subject_id FROM replies WHERE role = 'reflector'"
        ).fetchall()
        decided = connection.execute(
            "SELECT filter, keep, reason, count(*) FROM decisions GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    assert {reply[:2] for reply in replies} == {("reflector", "reflection")}
    assert {reply[2] for reply in replies} == {
        found["chain"] for found in details(run.ledger, CHAIN)
    }
    undefined = ("likelihood_leak", None, "no_scoring_model", 2)
    assert decided == [("leak", True, "clean", 2), undefined, ("reflect_retry", True, "solved", 2)]


@pytest.mark.parametrize("kind", sorted(BAD))
def test_a_reply_that_cannot_be_used_is_asked_for_again_with_the_reason(
    tmp_path: Path, kind: str
) -> None:
    def reply(body: Body) -> str:
        return BAD[kind] if len(body["messages"]) == 2 else diagnosis()

    with ChatServer(stutterer(reply)) as server:
        run, reports, _ = run_flow(reflecting_flow(server.url), str(tmp_path / "run"))
        again = [
            body["messages"][-1]["content"]
            for body in server.bodies
            if asks_for_reflection(body) and len(body["messages"]) == 4
        ]
    assert reports["reflect_retry"]["verified"] == 2
    assert len(again) == 2
    assert all(text.startswith("That cannot be used: ") for text in again)
    with connect(run.ledger) as connection:
        assert connection.execute(
            "SELECT ordinal, count(unreadable) FROM replies WHERE role = 'reflector' GROUP BY ALL "
            "ORDER BY ALL"
        ).fetchall() == [(0, 2), (1, 0)]


@pytest.mark.parametrize("kind", ["prose", "out of range"])
def test_no_usable_reply_in_three_is_no_retry_and_never_a_guess(tmp_path: Path, kind: str) -> None:
    with ChatServer(stutterer(lambda body: BAD[kind])) as server:
        run, reports, _ = run_flow(reflecting_flow(server.url), str(tmp_path / "run"))
        assert sum(map(asks_for_reflection, server.bodies)) == 6
    assert (reports["reflect_retry"]["verified"], reports["reflect_retry"]["rejected"]) == (
        0,
        {"unreadable_reflection": 2},
    )
    assert retries(run.ledger) == []
    assert all(
        found["reflection"] is None and found["what_was_wrong"]
        for found in details(run.ledger, REFLECTION)
    )


def test_a_reflector_that_calls_a_failure_a_success_gets_no_retry(tmp_path: Path) -> None:
    fine = diagnosis(
        trajectory_outcome="success", improvement_suggestion=None, retry_from_step=None
    )
    with ChatServer(stutterer(lambda body: fine)) as server:
        _, reports, _ = run_flow(reflecting_flow(server.url), str(tmp_path / "run"))
    assert reports["reflect_retry"]["rejected"] == {"says_success": 2}


def test_the_reflector_is_told_the_outcome_and_none_of_the_checks_findings(tmp_path: Path) -> None:
    with ChatServer(stutterer()) as server:
        run, _, _ = run_flow(reflecting_flow(server.url), str(tmp_path / "run"))
        (text, *_) = [
            body["messages"][1]["content"] for body in server.bodies if asks_for_reflection(body)
        ]
        findings = [
            line
            for t in run.ledger.trajectories()
            if t.check_result
            for part in t.check_result.parts
            for line in part.evidence
        ]
        assert findings
        assert "judged this attempt as not solved" in text
        assert not any(line in text for line in findings)
        run, reports, _ = run_flow(
            reflecting_flow(server.url, {"evidence": True}), str(tmp_path / "informed")
        )
        told = [
            body["messages"][1]["content"] for body in server.bodies if asks_for_reflection(body)
        ][2:]
        assert all(any(line in text for line in findings) for text in told)
    assert reports["reflect_retry"]["gold_informed"] is True
    assert all(retry.gold_informed for retry in retries(run.ledger))


def test_a_server_that_fails_the_reflector_is_a_fault_no_label_and_a_rerun_tries_again(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    with ChatServer(stutterer()) as server:
        flow = reflecting_flow(server.url)
        run_flow(flow.model_copy(update={"stages": flow.stages[:1]}), url)
        server._mishaps.extend([Mishap("bad_request"), Mishap("bad_request")])
        run, reports, _ = run_flow(flow, url)
        assert reports["reflect_retry"]["verified"] == 0
        assert set(reports["reflect_retry"]["rejected"]) == {"reflector_fault:judge"}
        assert retries(run.ledger) == []
        _, reports, _ = run_flow(flow, url)
    assert (reports["reflect_retry"]["attempted"], reports["reflect_retry"]["verified"]) == (2, 2)


def test_a_retry_that_the_machinery_broke_is_no_verdict_and_a_rerun_plays_it_again_in_its_slot(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    with ChatServer(stutterer()) as server:
        flow = reflecting_flow(server.url, env={"name": "echo", "tasks": 1, "turns": 3})
        server._mishaps.extend(
            [None] * 5 + [Mishap("bad_request")] * 3
        )  # four turns, a reflection, then the retry's three tries
        run, reports, _ = run_flow(flow, url)
        assert reports["reflect_retry"]["rejected"] == {"fault:model": 1}
        with connect(run.ledger) as connection:
            assert connection.execute("SELECT count(*) FROM decisions").fetchall() == [(0,)], (
                "a fault is never a label"
            )
        run, reports, _ = run_flow(flow, url)
    assert (reports["reflect_retry"]["attempted"], reports["reflect_retry"]["verified"]) == (1, 1)
    with connect(run.ledger) as connection:
        sql = (
            "SELECT attempt, outcome FROM trajectories WHERE synthesizer = 'reflect_retry' "
            "ORDER BY attempt"
        )
        assert connection.execute(sql).fetchall() == [
            (0, "invalid"),
            (1, "invalid"),
            (2, "invalid"),
            (3, "success"),
        ]
