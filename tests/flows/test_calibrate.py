"""A flow that asks for a pass rate: its level is found by playing, once, and stands in every
task.
"""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from synth.engine.funnel import funnel
from synth.ledger import StoredLedger
from synth.ledger.sql import query
from synth.schemas.errors import SynthError
from synth.schemas.flow import Flow
from synth.schemas.task import Task
from tests.flow_files import run_flow
from tests.flows.calibrations import EPISODES, flow, played
from tests.flows.leveled_world import CLOSED_NAME, closed_share
from tests.flows.test_killed import start, write
from tests.synth.models.chat_brains import Body, called, echo_expert, messages_hash
from tests.synth.models.chat_server import ChatServer


@pytest.mark.slow
def test_the_level_is_found_before_the_tasks_are_made_and_every_task_says_how(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    _, reports, said = run_flow(flow(), url)
    found = reports["calibrate"]
    assert (found["episodes"], found["target_pass_rate"], found["reached"], found["finished"]) == (
        EPISODES,
        0.5,
        True,
        True,
    )
    assert found["interval"][0] < found["pass_rate"] < found["interval"][1]
    assert f"calibrate: level {found['level']:g}: explorer passes {found['pass_rate']:.2f}" in said
    tasks = StoredLedger(url).tasks(set(StoredLedger(url).task_ids()))
    assert len(tasks) == 3
    for task in tasks.values():
        known = task.difficulty["calibration"]
        assert known == {key: found[key] for key in found if key not in ("kind", "finished")}
        assert (known["against"], known["model"], known["policy"]) == (
            "explorer",
            None,
            {"policy": "hard"},
        )
        assert (
            len(task.check.required if task.check else ()) == 1 + round(9 * found["level"]) + 1
        ), "words, and the end"
        fields = {name: getattr(task, name) for name in task.__struct_fields__ if name != "task_id"}
        assert task == Task.identified(**fields)


@pytest.mark.slow
def test_who_hears_one_word_in_six_wrong_passes_half_of_the_tasks_of_four_words(
    tmp_path: Path,
) -> None:
    _, reports, _ = run_flow(flow(episodes=200), str(tmp_path / "run"))
    assert (
        2 / 9 <= reports["calibrate"]["level"] <= 4 / 9
    )  # 3 to 5 words: (5/6)^3 = 0.58, (5/6)^4 = 0.48, (5/6)^5 = 0.40


@pytest.mark.slow
def test_a_second_run_plays_nothing_and_makes_the_same_tasks(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, first, _ = run_flow(flow(), url)
    tasks = StoredLedger(url).task_ids()
    _, second, said = run_flow(flow(), url)
    assert said.splitlines() == [
        f"{stage}: nothing to do" for stage in ("calibrate", "tasks", "rollout", "filter")
    ]
    assert (second, StoredLedger(url).task_ids(), played(url)) == (first, tasks, EPISODES)


@pytest.mark.slow
def test_a_lost_round_is_told_as_it_is_and_the_level_stands(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, first, _ = run_flow(flow(), url)
    shard = next(shard for shard in StoredLedger(url).state.shards if shard.stage == "calibrate")
    gone = Path(url) / shard.files["trajectories"].path
    gone.unlink()
    _, second, said = run_flow(flow(), url)
    assert second["calibrate"] == first["calibrate"]
    assert played(url) == EPISODES - len(shard.slots)
    assert said.splitlines()[:2] == [
        f"{gone}: missing; the {len(shard.slots)} trajectories of its shard (stage calibrate) are "
        "gone, from the costs too: what was "
        "found by them stands, and no run makes them again; put the file back from a backup to "
        "have them",
        "calibrate: nothing to do",
    ]


@pytest.mark.slow
def test_its_episodes_are_kept_but_no_stage_and_no_view_has_them(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(flow(), url)
    assert played(url) == EPISODES
    assert query(StoredLedger(url), "SELECT DISTINCT synthesizer FROM trajectories").fetchall() == [
        ("rollout",)
    ]
    assert query(StoredLedger(url), "SELECT count(*) FROM tasks").fetchall() == [(3,)]
    assert query(StoredLedger(url), "SELECT count(DISTINCT task_id) FROM tasks_all").fetchall() == [
        (3 + EPISODES,)
    ]
    assert reports["filter"]["total"] == 3 * 8


@pytest.mark.slow
def test_other_stages_leave_the_level_alone_and_another_target_shares_the_first_round(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    _, first, _ = run_flow(flow(), url)
    _, second, said = run_flow(flow(stages=[{"rollout": {"trials": 8}}]), url)
    assert "calibrate: nothing to do" in said
    assert second["calibrate"] == first["calibrate"]
    _, third, said = run_flow(flow(target=0.8), url)
    assert "target_pass_rate: 0.5 -> 0.8" in said
    assert third["calibrate"]["level"] < first["calibrate"]["level"]
    assert played(url) == EPISODES + EPISODES - 40


def mishearing(body: Body) -> dict[str, Any]:
    """A model that gets one word in six wrong, the same ones whenever it is asked the same."""
    message = echo_expert(body)
    calls = message.get("tool_calls") or [{"function": {"name": None}}]
    wrong = calls[0]["function"]["name"] == "echo" and int(messages_hash(body)[:4], 16) % 6 == 0
    return called("echo", {"text": "what?"}) if wrong else message


def on(server: ChatServer, **changes: Any) -> Flow:
    model = {"model": "test", "base_url": server.url, "timeout_s": 5, "max_retries": 1}
    return flow(
        models={"explorer": model}, stages=[{"rollout": {"trials": 1, "live": 2}}], **changes
    )


@pytest.mark.slow
def test_stopped_by_a_ceiling_it_goes_on_to_the_level_of_a_run_that_was_not(tmp_path: Path) -> None:
    with ChatServer(mishearing) as server:
        run, whole, _ = run_flow(on(server), str(tmp_path / "whole"))
        calls, tasks = server.counts()["total"], StoredLedger(str(tmp_path / "whole")).task_ids()
        spent = run.budget.spent.prompt_tokens + run.budget.spent.completion_tokens
    assert 0 < whole["calibrate"]["passed"] < EPISODES
    with ChatServer(mishearing) as server:
        url = str(tmp_path / "run")
        for ceiling in (spent // 4, spent // 2):
            run, reports, _ = run_flow(on(server, max_tokens=ceiling), url)
            assert run.stopped is not None
            assert (reports["calibrate"]["finished"], reports["tasks"]["count"]) == (False, 0)
            (row,) = [row for row in funnel(reports) if row.stage == "calibrate"]
            assert row.reasons == "for 0.5 of explorer: not finished", (
                "no level is told before it is known"
            )
        _, resumed, _ = run_flow(on(server), url)
        assert resumed == whole
        assert StoredLedger(url).task_ids() == tasks
        assert server.counts()["total"] == calls, "no call is made twice"


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_killed_it_goes_on_to_the_level_of_a_run_that_was_not(
    share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, url = tmp_path / "state", str(tmp_path / "run")
    monkeypatch.setenv("SYNTH_STATE_DIR", str(state))
    with ChatServer(mishearing) as server:
        _, whole, _ = run_flow(on(server), str(tmp_path / "whole"))
        calls, tasks = server.counts()["total"], StoredLedger(str(tmp_path / "whole")).task_ids()
    with ChatServer(mishearing, latency_s=0.005) as server:
        file = write(on(server), tmp_path / "flow.yaml")
        process = start(file, url, SYNTH_STATE_DIR=str(state))
        deadline = time.monotonic() + 60
        while server.counts()["total"] < share * calls:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.002)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        before = server.counts()["total"]
        assert before < calls, "killed while it was playing"
        _, resumed, _ = run_flow(on(server), url)
        assert resumed == whole
        assert StoredLedger(url).task_ids() == tasks
        assert calls <= server.counts()["total"] <= calls + 2, (
            "two episodes were live: at most their calls in flight are made again"
        )


def closed(share: float, episodes: int = EPISODES) -> Flow:
    """The expert never fails; some tasks cannot be opened."""
    closed_share[0] = share
    difficulty = {"target_pass_rate": 0.5, "episodes": episodes}
    return flow(
        env={"name": CLOSED_NAME, "tasks": 3, "difficulty": difficulty},
        models={"explorer": {"policy": "expert"}},
        stages=[],
    )


@pytest.mark.slow
def test_episodes_that_end_in_a_fault_are_told_and_are_no_failures(tmp_path: Path) -> None:
    _, reports, said = run_flow(closed(0.1), str(tmp_path / "run"))
    found = reports["calibrate"]
    assert 0 < found["faults"] <= EPISODES // 4
    assert found["episodes"] == found["passed"] == EPISODES - found["faults"]
    assert f"{found['episodes']} episodes and {found['faults']} fault" in said
    (row,) = [row for row in funnel(reports) if row.stage == "calibrate"]
    assert (row.came_in, row.went_on) == (EPISODES, found["episodes"])
    assert f"{found['faults']} ended in faults" in row.reasons


@pytest.mark.slow
def test_where_over_a_quarter_of_a_round_ends_in_faults_it_stops_and_goes_on_when_mended(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    message = (
        r"^calibrate: (\d+) of 40 episodes ended in a fault \(\1 environment\), which says "
        r"nothing about the policy; the commonest: "
        r"reset: RuntimeError: the desk is closed.*; mend it and run again, what was done is kept$"
    )
    for _ in range(2):
        with pytest.raises(SynthError, match=message) as caught:
            run_flow(closed(0.6), url)
        assert "\n" not in str(caught.value)
        assert StoredLedger(url).task_ids() == {}
    _, mended, _ = run_flow(closed(0), url)
    assert (mended["calibrate"]["episodes"], mended["calibrate"]["faults"]) == (EPISODES, 0)
    ((valid,),) = query(
        StoredLedger(url), "SELECT count(*) FROM trajectories_all WHERE outcome <> 'invalid'"
    ).fetchall()
    assert valid == EPISODES, "what had ended well was not played again"


def test_a_server_that_is_gone_is_no_pass_rate(tmp_path: Path) -> None:
    with ChatServer(echo_expert) as server:
        gone = flow(
            models={
                "explorer": {
                    "model": "test",
                    "base_url": server.url,
                    "timeout_s": 5,
                    "max_retries": 0,
                }
            }
        )
    with pytest.raises(SynthError, match="stopped after 10 attempts in a row that ended so"):
        run_flow(gone, str(tmp_path / "run"))
    assert StoredLedger(str(tmp_path / "run")).task_ids() == {}
