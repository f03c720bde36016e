"""Chains of a second run: nothing is made, asked or paid for twice."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from synth.ledger.ledger import StoredLedger
from synth.ledger.storage.journal import JournaledReply, recorded
from synth.ledger.views import connect
from synth.schemas.outcome import Outcome
from synth.synthesizers.reflection.chain_rows import CHAIN
from tests.flow_files import run_flow
from tests.flows.test_killed import kill_at, start
from tests.rounds import rounds
from tests.synth.models.chat_server import ChatServer
from tests.synthesizers.reflection.desk import (
    asks_for_reflection,
    details,
    reflecting_flow,
    stutterer,
)
from tests.synthesizers.reflection.test_chains import retries, slow_learner

pytestmark = pytest.mark.slow


def test_a_second_run_does_nothing_and_more_trials_keep_what_is_there(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(stutterer()) as server:
        run_flow(reflecting_flow(server.url), url)
        before = {retry.trajectory_id for retry in retries(StoredLedger(url))}
        asked = server.counts()["total"]
        _, reports, said = run_flow(reflecting_flow(server.url), url)
        assert server.counts()["total"] == asked
        assert "reflect_retry: nothing to do" in said
        assert reports["reflect_retry"]["verified"] == 2
        run, reports, _ = run_flow(reflecting_flow(server.url, trials=2), url)
        reflections = [body for body in server.bodies if asks_for_reflection(body)]
    assert (reports["reflect_retry"]["attempted"], reports["reflect_retry"]["verified"]) == (4, 4)
    found = {retry.trajectory_id for retry in retries(run.ledger)}
    assert before < found
    assert len(found) == 4
    assert len(reflections) == 4, "the first two are not asked for again"
    assert len(details(run.ledger, CHAIN)) == 4
    with connect(run.ledger) as connection:
        ((decided,),) = connection.execute(
            "SELECT count(DISTINCT trajectory_id) FROM decisions WHERE filter = 'leak'"
        ).fetchall()
    assert decided == 4


def test_what_other_settings_of_the_rollout_had_made_is_not_seen(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(stutterer()) as server:
        run_flow(reflecting_flow(server.url), url)
        run, _, _ = run_flow(reflecting_flow(server.url, seed=4), url)
    bases = {
        t.trajectory_id
        for t in run.ledger.trajectories()
        if t.synthesizer == "rollout" and t.outcome is Outcome.FAILURE
    }
    assert {retry.parent_id for retry in retries(run.ledger)} == bases
    assert {detail["chain"] for detail in details(run.ledger, CHAIN)} == bases
    assert len(details(run.ledger, CHAIN, "scores_all")) == 2 + len(bases)


def test_a_ceiling_stops_new_retries_and_a_later_run_goes_on_without_asking_twice(
    tmp_path: Path,
) -> None:
    url, env = str(tmp_path / "run"), {"name": "echo", "tasks": 12, "turns": 3}
    with ChatServer(stutterer(), latency_s=0.005) as server:
        flow = reflecting_flow(server.url, {"live": 2, "off_policy_samples": 0}, env=env)
        _, reports, _ = run_flow(flow.model_copy(update={"stages": flow.stages[:1]}), url)
        failed = reports["rollout"]["outcomes"]["failure"]
        spent = sum(
            t.totals.prompt_tokens + t.totals.completion_tokens
            for t in StoredLedger(url).trajectories()
        )
        run, _, _ = run_flow(flow.model_copy(update={"max_tokens": spent + 9000}), url)
        assert run.stopped is not None
        assert len(retries(run.ledger)) < failed
        _, reports, _ = run_flow(flow, url)
        counts = server.counts()["by_hash"]
    assert reports["reflect_retry"]["verified"] == failed
    assert max(counts.values()) == 1, (
        "every request of the run is a different one, and none was made twice"
    )


@pytest.mark.slow
@pytest.mark.parametrize("point", rounds(60, nightly=[3, 12, 24, 100, 140]))
def test_killed_in_the_middle_it_asks_for_no_journaled_reply_twice(
    tmp_path: Path, point: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, url, env = (
        tmp_path / "state",
        str(tmp_path / "run"),
        {"name": "echo", "tasks": 12, "turns": 3},
    )
    monkeypatch.setenv("SYNTH_STATE_DIR", str(state))
    with ChatServer(slow_learner(2), latency_s=0.004) as server:
        flow = reflecting_flow(
            server.url, {"attempts": 2, "live": 4, "off_policy_samples": 0}, env=env
        )
        _, reports, _ = run_flow(flow.model_copy(update={"stages": flow.stages[:1]}), url)
        failed = reports["rollout"]["outcomes"]["failure"]
        path = tmp_path / "flow.yaml"
        path.write_text(yaml.safe_dump(flow.model_dump(mode="json")))
        assert kill_at(start(path, url, SYNTH_STATE_DIR=str(state)), state, point)
        assert retries(StoredLedger(url)) == []
        events, _ = recorded(StoredLedger(url).journal_folder)
        journaled = sum(
            isinstance(event, JournaledReply) for found in events.values() for event in found
        )
        committed = sum(t.totals.calls for t in StoredLedger(url).trajectories())
        before = Counter(server.counts()["by_hash"])
        run, reports, _ = run_flow(flow, url)
        twice = {
            request: count for request, count in server.counts()["by_hash"].items() if count > 1
        }
    assert reports["reflect_retry"]["verified"] == failed > 8
    assert len({t.slot_id for t in retries(run.ledger)}) == len(retries(run.ledger)) == 2 * failed
    assert all(count == 2 and request in before for request, count in twice.items())
    assert len(twice) <= sum(before.values()) - committed - journaled, (
        "only what was not journaled when it was killed is asked for again"
    )
