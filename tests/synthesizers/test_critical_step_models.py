"""Critical steps of a chat model: its own other samples are the alternatives, and no reply is paid
for twice.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from synth.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.canonical import content_hash
from synth.schemas.errors import SynthError
from synth.schemas.flow import Flow
from tests.flow_files import run_flow
from tests.rounds import rounds
from tests.synth.models.chat_brains import Body, called
from tests.synth.models.chat_server import ChatServer, Mishap
from tests.synthesizers.fork_flows import evidence, fork_flow, rows
from tests.synthesizers.fork_world import dice

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    dice.opened, dice.thrown, dice.dies_at = 0, [], None
    yield
    dice.dies_at = None


def fork_brain(body: Body) -> dict[str, Any]:
    """Takes a way, left three times of four, then throws; what it draws hangs on the seed that it
    is sent.
    """
    done = sum(message["role"] == "assistant" for message in body["messages"])
    drawn = int(content_hash([body["seed"], done]), 16)
    if done == 0:
        return called("take", {"way": "left" if drawn % 4 else "right"}, "c0")
    return called("throw", {"number": drawn % 100}, f"c{done}")


def chat_flow(url: str, **changes: Any) -> Flow:
    content = fork_flow(
        {"alternatives_from": ["explorer"], "proposals": {"samples": 8}}
    ).model_dump(mode="json")
    content["models"] = {
        "explorer": {
            "model": "m",
            "base_url": url,
            "seed": 11,
            "temperature": 1.0,
            "max_retries": 0,
        }
    }
    return Flow.model_validate(content | changes)


def test_a_ceiling_leaves_the_rest_to_a_rerun_and_labels_wait_for_the_whole_control(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    whole = str(tmp_path / "whole")
    with ChatServer(fork_brain) as server:
        tokens = run_flow(chat_flow(server.url), whole)[0].budget.tokens
        run, reports, _ = run_flow(chat_flow(server.url, max_tokens=tokens // 2), url)
        assert run.stopped == f"max_tokens {tokens // 2:,} is reached"
        assert rows(url) == []
        assert reports["critical_step"]["left_open"] > 0
        run_flow(chat_flow(server.url), url)
    assert rows(url) == rows(whole)
    with connect(StoredLedger(url)) as connection:
        twice = "SELECT question_id, ordinal FROM replies GROUP BY ALL HAVING count(*) > 1"
        assert connection.execute(twice).fetchall() == []


def test_a_models_own_other_samples_are_the_alternatives_and_each_reply_is_paid_for_once(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    with ChatServer(fork_brain) as server:
        run, reports, _ = run_flow(chat_flow(server.url), url)
        asked = server.counts()["total"]
    found = [d for _, turn, _, d in rows(url) if turn == 0 and d["status"] == "confirmed"]
    assert found
    for detail in found:
        assert (
            detail["alternative_from"],
            detail["alternative_authorship"],
            detail["on_policy_for"],
        ) == ("explorer", "model", "m")
        assert "right" in detail["alternative"]["tool_calls"][0]["arguments"]
    with connect(run.ledger) as connection:
        replies = connection.execute(
            "SELECT count(*) FROM replies WHERE purpose = 'alternative' AND role = 'explorer'"
        ).fetchone()
        calls = connection.execute("SELECT sum(model_calls) FROM trajectories_all").fetchone()
    assert replies is not None
    assert calls is not None
    assert replies[0] + calls[0] == asked
    assert run.budget.tokens > 0
    assert reports["critical_step"]["verified"] == len(found)


def test_killed_in_the_middle_no_reply_is_asked_for_twice(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(fork_brain) as server:
        run_flow(chat_flow(server.url), str(tmp_path / "whole"))
        whole = server.counts()["total"]
        dice.opened, dice.dies_at = 0, 40
        with pytest.raises(SynthError, match="the disk is full"):
            run_flow(chat_flow(server.url), url)
        dice.dies_at = None
        run_flow(chat_flow(server.url), url)
        in_flight = 64
        assert whole <= server.counts()["total"] - whole <= whole + in_flight
    assert rows(url) == rows(str(tmp_path / "whole"))


KILLED = """
import asyncio, os, signal, sys
from io import StringIO
from synth.flows.synthesize import synthesize
from synth.schemas.flow import Flow
from synth.engine.progress import PlainProgress


class Kills(PlainProgress):
    steps = 0

    def start(self, stage, *more):
        super().start(stage, *more)
        self.steps = -1000 if stage != "critical_step" else 0

    def step(self, count):
        self.steps += count
        if self.steps >= int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)


asyncio.run(synthesize(Flow.model_validate_json(sys.argv[1]), sys.argv[2], Kills(StringIO()), None))
"""


@pytest.mark.parametrize("steps", rounds(5, nightly=[1, 9]))
def test_a_sigkill_in_mid_stage_costs_no_reply_twice_and_the_labels_are_the_same(
    tmp_path: Path, steps: int
) -> None:
    url, whole = str(tmp_path / "run"), str(tmp_path / "whole")
    with ChatServer(fork_brain) as server:
        content = chat_flow(server.url).model_dump(mode="json")
        content["stages"][1]["settings"] |= {"shard": 2, "live": 2}
        flow = Flow.model_validate(content)
        run_flow(flow, whole)
        once = server.counts()["total"]
        command = [sys.executable, "-c", KILLED, flow.model_dump_json(), url, str(steps)]
        killed = subprocess.run(
            command, cwd=Path(__file__).resolve().parents[2], env=os.environ, check=False
        )
        assert killed.returncode == -9
        assert rows(url) == [], "no label before the control of the whole stage is counted"
        under_way = server.counts()["total"] - once
        assert 0 < under_way < once
        run_flow(flow, url)
        again = server.counts()["total"] - 2 * once
    in_flight = (
        2 + 2 * 4
    )  # two episodes, and two questions in each of the four shards that are done at once
    assert 0 <= again <= in_flight, "only what was under way when it was killed"
    assert rows(url) == rows(whole)
    assert evidence(url).keys() == evidence(whole).keys()


def test_continuations_of_two_checkpoints_are_not_compared(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(fork_brain) as server:

        def updated_under_way(body: Body) -> dict[str, Any]:
            server.fingerprint = "fp_even" if body["seed"] % 2 == 0 else "fp_odd"
            return fork_brain(body)

        server.brain = updated_under_way
        _, reports, _ = run_flow(chat_flow(server.url), url)
    labels = [detail for _, _, _, detail in rows(url)]
    with connect(StoredLedger(url)) as connection:
        weights = dict(
            connection.execute("SELECT trajectory_id, weights_id FROM trajectories_all").fetchall()
        )
    assert {detail["reason"] for detail in labels} == {None, "mixed_weights"}
    for detail in labels:
        played_with = {weights[identity] for identity in (*detail["pos_ids"], *detail["neg_ids"])}
        assert (detail["reason"] == "mixed_weights") == (
            len(played_with) > 1 or "mixed" in played_with
        )
        assert detail["reason"] is not None or {detail["weights_id"]} == played_with
    assert reports["critical_step"]["rejected"]["mixed_weights"] > 0


def with_judge(url: str, judge_url: str) -> Flow:
    """One step of each trial, the judge's first choice; the judge decides nothing else."""
    content = chat_flow(url).model_dump(mode="json")
    content["stages"][1]["settings"]["proposals"] |= {"per_trajectory": 1}
    content["models"]["judge"] = {"model": "judge", "base_url": judge_url, "max_retries": 0}
    return Flow.model_validate(content)


def says(content: str) -> Callable[[Body], dict[str, Any]]:
    return lambda body: {"role": "assistant", "content": content}


def test_what_a_judge_names_is_tested_and_decided_by_continuations_alone(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(fork_brain) as server, ChatServer(says("[1]")) as judge:
        run, _, _ = run_flow(with_judge(server.url, judge.url), url)
        failures = sum(
            t.synthesizer == "rollout" and t.outcome == "failure"
            for t in StoredLedger(url).trajectories()
        )
        assert judge.counts()["total"] == failures > 3
    labels = rows(url)
    assert {(turn, detail["proposed_by"]) for _, turn, _, detail in labels} == {(1, "judge")}
    assert "confirmed" not in {detail["status"] for _, _, _, detail in labels}, (
        "on the left way no throw wins, whoever suspects it"
    )
    with connect(run.ledger) as connection:
        asked = connection.execute(
            "SELECT count(*) FROM replies WHERE role = 'judge' AND purpose = 'suspected_steps'"
        ).fetchone()
    assert asked == (failures,)


@pytest.mark.parametrize("answer", rounds("[9]", nightly=["all of them", "[0] or [1]"]))
def test_a_judge_that_is_not_understood_leaves_the_rules(tmp_path: Path, answer: str) -> None:
    url = str(tmp_path / "run")
    with ChatServer(fork_brain) as server, ChatServer(says(answer)) as judge:
        run_flow(with_judge(server.url, judge.url), url)
    assert {(turn, detail["proposed_by"]) for _, turn, _, detail in rows(url)} <= {
        (0, "departure"),
        (0, "effect"),
    }
    with connect(StoredLedger(url)) as connection:
        assert connection.execute(
            "SELECT count(*) FROM replies WHERE role = 'judge' AND unreadable IS NULL"
        ).fetchone() == (0,)


def test_trials_that_no_judge_could_be_asked_about_wait_for_one(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(fork_brain) as server:
        with ChatServer(says("[1]"), mishaps=[Mishap("status", status=401)] * 1000) as judge:
            _, reports, _ = run_flow(with_judge(server.url, judge.url), url)
        assert rows(url) == []
        left = reports["critical_step"]["left_open"]
        assert left > 0
        with ChatServer(says("[1]")) as judge:
            _, reports, _ = run_flow(with_judge(server.url, judge.url), url)
    assert reports["critical_step"]["left_open"] == 0
    assert {detail["proposed_by"] for _, _, _, detail in rows(url)} == {"judge"}


def test_labels_of_a_former_run_are_judged_anew_by_the_control_of_all(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with (
        ChatServer(fork_brain) as server,
        ChatServer(says("[0]"), mishaps=[Mishap("status", status=500)] * 3) as judge,
    ):
        flow = with_judge(server.url, judge.url)
        _, first, _ = run_flow(flow, url)
        early = rows(url)
        _, second, _ = run_flow(flow, url)
    assert first["critical_step"]["left_open"] > 0
    assert early
    labels = rows(url)
    assert {(subject, turn) for subject, turn, *_ in early} < {
        (subject, turn) for subject, turn, *_ in labels
    }
    tests = [
        (subject, turn, detail.get("alternative_digest")) for subject, turn, _, detail in labels
    ]
    assert len(tests) == len(set(tests)), "a label stands once"
    assert {detail["fdr"] for *_, detail in labels} == {
        second["critical_step"]["expected_false_share"]
    }
    with connect(StoredLedger(url)) as connection:
        ((every,),) = connection.execute(
            "SELECT count(*) FROM scores_all WHERE metric = 'critical_step'"
        ).fetchall()
    assert every == len(early) + len(labels), "the former labels are kept, in no view"
