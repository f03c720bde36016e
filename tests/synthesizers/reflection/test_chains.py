"""Chains of attempts: lessons carried along, what is settled is never made again, ceilings and
kills cost nothing twice.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.outcome import Outcome, Termination
from synth.synthesizers.reflection.chain_rows import REFLECTION
from synth.synthesizers.reflection.token_cost import improved
from tests.flow_files import run_flow
from tests.synth.models.chat_brains import Body, called, echo_expert
from tests.synth.models.chat_server import ChatServer
from tests.synthesizers.reflection.desk import (
    asks_for_reflection,
    details,
    diagnosis,
    guided,
    reflecting_flow,
    stutterer,
)
from tests.trajectories import make_trajectory

pytestmark = pytest.mark.slow


def retries(ledger: StoredLedger) -> list[Any]:
    return [
        trajectory
        for trajectory in ledger.trajectories()
        if trajectory.synthesizer == "reflect_retry"
    ]


def lesson(number: int) -> str:
    return f"Lesson {['one', 'two', 'three', 'four'][number - 1]}: look at what was said."


def slow_learner(needed: int) -> Any:
    """Understands after so many lessons; its reflector gives a new one for each that it was told
    of.
    """

    def brain(body: Body) -> dict[str, Any]:
        text = json.dumps(body["messages"])
        known = sum(lesson(number) in text for number in range(1, 5))
        if asks_for_reflection(body):
            return {
                "role": "assistant",
                "content": diagnosis(improvement_suggestion=lesson(known + 1)),
            }
        done = [
            m["tool_calls"][0]["function"]
            for m in body["messages"]
            if m["role"] == "assistant" and m.get("tool_calls")
        ]
        if len(done) == 1 and known < needed:
            return called("echo", json.loads(done[0]["arguments"]), "call_1")
        return echo_expert(body)

    return brain


def test_each_attempt_reflects_on_the_last_and_carries_all_lessons(tmp_path: Path) -> None:
    with ChatServer(slow_learner(3)) as server:
        run, reports, _ = run_flow(
            reflecting_flow(server.url, {"attempts": 4}), str(tmp_path / "run")
        )
    assert (reports["reflect_retry"]["attempted"], reports["reflect_retry"]["verified"]) == (2, 2)
    found = details(run.ledger, REFLECTION)
    assert [detail["attempt"] for detail in found] == [1, 2, 3, 1, 2, 3], "the fourth is not needed"
    by_id = {t.trajectory_id: t for t in run.ledger.trajectories()}
    for first, second, third in (found[:3], found[3:]):
        chain = [by_id[detail["retry"]] for detail in (first, second, third)]
        assert [t.outcome for t in chain] == [Outcome.FAILURE, Outcome.FAILURE, Outcome.SUCCESS]
        assert [t.parent_id for t in chain] == [first["chain"], first["retry"], second["retry"]]
        assert [sum(lesson(n) in t.guidance for n in range(1, 5)) for t in chain] == [1, 2, 3]
        assert len(third["memo"]["attempts_log"]) == 3
        assert third["memo"]["next_strategy"] == lesson(3)
        assert third["memo"]["failed_tests"] == ["required", "protected"]
    with connect(run.ledger) as connection:
        reasons = connection.execute(
            "SELECT reason, count(*) FROM decisions WHERE filter = 'reflect_retry' GROUP BY ALL"
        ).fetchall()
    assert dict(reasons) == {"still_failure": 4, "solved": 2}


def test_a_chain_ends_after_the_last_attempt_allowed(tmp_path: Path) -> None:
    with ChatServer(slow_learner(9)) as server:
        run, reports, _ = run_flow(
            reflecting_flow(server.url, {"attempts": 3}), str(tmp_path / "run")
        )
    assert reports["reflect_retry"]["rejected"] == {"still_failure": 2}
    assert len(retries(run.ledger)) == 6


def test_a_leaking_attempt_is_gone_on_from_before_its_leak(tmp_path: Path) -> None:
    def brain(body: Body) -> dict[str, Any]:
        message = slow_learner(2)(body)
        done = sum(m["role"] == "assistant" for m in body["messages"])
        return (
            message | {"content": "As the lesson says."}
            if guided(body) and done == 2 and "two" not in json.dumps(body)
            else message
        )

    def late(body: Body) -> dict[str, Any]:
        message = brain(body)
        return (
            message | {"content": message["content"].replace('"1"', '"3"')}
            if asks_for_reflection(body)
            else message
        )

    with ChatServer(late) as server:
        run, _, _ = run_flow(reflecting_flow(server.url, {"attempts": 2}), str(tmp_path / "run"))
    for retry in retries(run.ledger):
        assert "lesson says" not in json.dumps(
            [turn.content for turn in retry.turns[: retry.pivot_turn]]
        )


def attempt(outcome: Outcome, turns: int) -> Any:
    termination = Termination.TURN_LIMIT if outcome is Outcome.TRUNCATED else Termination.DONE
    return make_trajectory(
        outcome=outcome,
        termination=termination,
        turns=turns,
        reward=float(outcome is Outcome.SUCCESS),
    )


@pytest.mark.parametrize(
    ("base", "retry", "kept"),
    [
        ((Outcome.FAILURE, 3), (Outcome.SUCCESS, 9), (True, "solved")),
        ((Outcome.TRUNCATED, 3), (Outcome.SUCCESS, 9), (True, "solved")),
        ((Outcome.SUCCESS, 9), (Outcome.SUCCESS, 8), (True, "fewer_steps")),
        ((Outcome.SUCCESS, 9), (Outcome.SUCCESS, 9), (False, "no_improvement")),
        ((Outcome.FAILURE, 9), (Outcome.FAILURE, 2), (False, "still_failure")),
        ((Outcome.FAILURE, 9), (Outcome.TRUNCATED, 30), (False, "still_truncated")),
    ],
)
def test_a_retry_is_kept_where_it_is_solved_and_better(
    base: Any, retry: Any, kept: tuple[bool, str]
) -> None:
    assert improved(attempt(*base), attempt(*retry)) == kept


def test_a_success_that_is_called_inefficient_is_retried_where_asked_and_kept_if_shorter(
    tmp_path: Path,
) -> None:
    def brain(body: Body) -> dict[str, Any]:
        if asks_for_reflection(body):
            return {
                "role": "assistant",
                "content": diagnosis(
                    trajectory_outcome="success_but_inefficient", retry_from_step=0
                ),
            }
        greeted = any(m["role"] == "assistant" for m in body["messages"])
        return (
            echo_expert(body)
            if greeted or guided(body)
            else {"role": "assistant", "content": "Hello!"}
        )

    with ChatServer(brain) as server:
        _, reports, _ = run_flow(reflecting_flow(server.url), str(tmp_path / "not"))
        assert reports["reflect_retry"]["attempted"] == 0
        run, reports, _ = run_flow(
            reflecting_flow(server.url, {"inefficient": True}), str(tmp_path / "run")
        )
    assert (reports["reflect_retry"]["attempted"], reports["reflect_retry"]["verified"]) == (2, 2)
    assert {(len(retry.turns), retry.pivot_turn) for retry in retries(run.ledger)} == {(4, 0)}
    assert all(
        retry.system_prompt and "keep in mind" not in retry.system_prompt
        for retry in retries(run.ledger)
    )


def test_a_few_trials_of_each_task_are_retried_where_asked_for(tmp_path: Path) -> None:
    with ChatServer(stutterer()) as server:
        run, reports, _ = run_flow(
            reflecting_flow(server.url, {"per_task": 1}, trials=3), str(tmp_path / "run")
        )
    assert reports["reflect_retry"]["attempted"] == 2
    assert {retry.trial for retry in retries(run.ledger)} == {0}


def test_retries_are_played_under_the_limits_of_their_trials(tmp_path: Path) -> None:
    with ChatServer(slow_learner(9)) as server:
        flow = reflecting_flow(server.url, {"attempts": 1})
        limited = [{"rollout": {"trials": 1, "limits": {"max_turns": 3}}}, {"reflect_retry": {}}]
        run, reports, _ = run_flow(
            type(flow).model_validate(flow.model_dump() | {"stages": limited}),
            str(tmp_path / "run"),
        )
    assert reports["rollout"]["outcomes"] == {"truncated": 2}
    assert reports["reflect_retry"]["rejected"] == {"still_truncated": 2}
    assert {len(retry.turns) for retry in retries(run.ledger)} == {3}


def test_more_attempts_go_on_from_the_chains_that_are_there_and_pay_for_nothing_again(
    tmp_path: Path,
) -> None:
    url, whole = str(tmp_path / "run"), str(tmp_path / "whole")
    with ChatServer(slow_learner(4)) as server:
        run_flow(reflecting_flow(server.url, {"attempts": 2}), url)
        before = {retry.trajectory_id for retry in retries(StoredLedger(url))}
        run, reports, _ = run_flow(reflecting_flow(server.url, {"attempts": 4}), url)
        asked = Counter(server.counts()["by_hash"])
        _, again, said = run_flow(reflecting_flow(server.url, {"attempts": 4}), url)
        assert Counter(server.counts()["by_hash"]) == asked
        assert "reflect_retry: nothing to do" in said
        assert again == reports
    with ChatServer(slow_learner(4)) as server:
        expected, in_one, _ = run_flow(reflecting_flow(server.url, {"attempts": 4}), whole)
        assert Counter(server.counts()["by_hash"]) == asked, (
            "as in one run with four attempts from the beginning"
        )
    assert reports["reflect_retry"] == in_one["reflect_retry"]
    assert reports["reflect_retry"]["verified"] == 2
    assert before < {retry.trajectory_id for retry in retries(run.ledger)}
    assert {retry.slot_id for retry in retries(run.ledger)} == {
        retry.slot_id for retry in retries(expected.ledger)
    }
    assert len(retries(run.ledger)) == 8
    assert _plain(details(run.ledger, REFLECTION)) == _plain(details(expected.ledger, REFLECTION))
    with connect(run.ledger) as connection:
        decided = (
            "SELECT filter, count(*), count(DISTINCT trajectory_id) FROM decisions GROUP BY "
            "ALL ORDER BY ALL"
        )
        assert connection.execute(decided).fetchall() == [
            ("leak", 8, 8),
            ("likelihood_leak", 2, 2),
            ("reflect_retry", 8, 8),
        ]


def test_fewer_attempts_show_what_they_would_have_come_to(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(slow_learner(4)) as server:
        run_flow(reflecting_flow(server.url, {"attempts": 4}), url)
        asked = server.counts()["total"]
        run, reports, _ = run_flow(reflecting_flow(server.url, {"attempts": 2}), url)
        assert server.counts()["total"] == asked
    assert (reports["reflect_retry"]["verified"], reports["reflect_retry"]["rejected"]) == (
        0,
        {"still_failure": 2},
    )
    assert len(retries(run.ledger)) == 4


def _plain(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in detail.items() if key != "what_was_wrong"} for detail in found
    ]
