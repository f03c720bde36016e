"""A flow that asks for a pass rate: its level is found by playing, once, and stands in every task."""

from pathlib import Path
from typing import Any

import pytest

from schemas.errors import ConfigError, SynthError
from schemas.flow import Flow
from schemas.task import Task
from synth.ledger import Ledger
from synth.ledger.views import query
from tests.flow_files import echo_flow, run_flow
from tests.flows.leveled_world import NAME
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer

HARD_OF_HEARING = {"policy": "tests.flows.leveled_world:hard_of_hearing"}
EPISODES = 60


def flow(target: float = 0.5, episodes: int = EPISODES, **changes: Any) -> Flow:
    content: dict[str, Any] = {
        "env": {"name": NAME, "tasks": 3, "difficulty": {"target_pass_rate": target, "against": "explorer", "episodes": episodes}},
        "models": {"explorer": HARD_OF_HEARING},
        "stages": [{"rollout": {"trials": 8}}, {"filter": ["solved"]}],
    }
    return echo_flow(**(content | changes))


def played(url: str) -> int:
    ((count,),) = query(Ledger(url), "SELECT count(*) FROM trajectories_all WHERE synthesizer = 'calibration'").fetchall()
    return int(count)


def test_the_level_is_found_before_the_tasks_are_made_and_every_task_says_how(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, reports, said = run_flow(flow(), url)
    found = reports["calibrate"]
    assert (found["episodes"], found["target_pass_rate"], found["reached"], found["finished"]) == (EPISODES, 0.5, True, True)
    assert found["interval"][0] < found["pass_rate"] < found["interval"][1]
    assert f"calibrate: level {found['level']:g}: explorer passes {found['pass_rate']:.2f}" in said
    tasks = Ledger(url).tasks(set(Ledger(url).task_ids()))
    assert len(tasks) == 3
    for task in tasks.values():
        known = task.difficulty["calibration"]
        assert known == {key: found[key] for key in found if key not in ("kind", "finished")}
        assert (known["against"], known["model"], known["policy"]) == ("explorer", None, {"policy": "hard"})
        assert len(task.check.required if task.check else ()) == 1 + round(9 * found["level"]) + 1, "words, and the end"
        fields = {name: getattr(task, name) for name in task.__struct_fields__ if name != "task_id"}
        assert task == Task.identified(**fields)


def test_who_hears_one_word_in_six_wrong_passes_half_of_the_tasks_of_four_words(tmp_path: Path) -> None:
    _, reports, _ = run_flow(flow(episodes=200), str(tmp_path / "run"))
    assert 2 / 9 <= reports["calibrate"]["level"] <= 4 / 9  # 3 to 5 words: (5/6)^3 = 0.58, (5/6)^4 = 0.48, (5/6)^5 = 0.40


def test_a_second_run_plays_nothing_and_makes_the_same_tasks(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, first, _ = run_flow(flow(), url)
    tasks = Ledger(url).task_ids()
    _, second, said = run_flow(flow(), url)
    assert said.splitlines() == [f"{stage}: nothing to do" for stage in ("calibrate", "tasks", "rollout", "filter")]
    assert (second, Ledger(url).task_ids(), played(url)) == (first, tasks, EPISODES)


def test_its_episodes_are_kept_but_no_stage_and_no_view_has_them(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(flow(), url)
    assert played(url) == EPISODES
    assert query(Ledger(url), "SELECT DISTINCT synthesizer FROM trajectories").fetchall() == [("rollout",)]
    assert query(Ledger(url), "SELECT count(*) FROM tasks").fetchall() == [(3,)]
    assert query(Ledger(url), "SELECT count(DISTINCT task_id) FROM tasks_all").fetchall() == [(3 + EPISODES,)]
    assert reports["filter"]["total"] == 3 * 8


def test_other_stages_leave_the_level_alone_and_another_target_shares_the_first_round(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, first, _ = run_flow(flow(), url)
    _, second, said = run_flow(flow(stages=[{"rollout": {"trials": 8}}]), url)
    assert "calibrate: nothing to do" in said
    assert second["calibrate"] == first["calibrate"]
    _, third, said = run_flow(flow(target=0.8), url)
    assert "target_pass_rate: 0.5 -> 0.8" in said
    assert third["calibrate"]["level"] < first["calibrate"]["level"]
    assert played(url) == EPISODES + EPISODES - 40


def test_stopped_by_a_ceiling_it_goes_on_to_the_level_of_a_run_that_was_not(tmp_path: Path) -> None:
    def on(server: ChatServer, **changes: Any) -> Flow:
        model = {"model": "test", "base_url": server.url, "timeout_s": 5, "max_retries": 1}
        return flow(models={"explorer": model}, stages=[{"rollout": {"trials": 1, "live": 2}}], **changes)

    with ChatServer(echo_expert) as server:
        run, whole, _ = run_flow(on(server), str(tmp_path / "whole"))
        calls, tasks = server.counts()["total"], Ledger(str(tmp_path / "whole")).task_ids()
        spent = run.budget.spent.prompt_tokens + run.budget.spent.completion_tokens
    assert whole["calibrate"] | {"level": 1, "passed": EPISODES, "reached": False} == whole["calibrate"], "it never fails"
    with ChatServer(echo_expert) as server:
        url = str(tmp_path / "run")
        for ceiling in (spent // 4, spent // 2):
            run, reports, _ = run_flow(on(server, max_tokens=ceiling), url)
            assert run.stopped is not None
            assert (reports["calibrate"]["finished"], reports["tasks"]["count"]) == (False, 0)
        _, resumed, _ = run_flow(on(server), url)
        assert resumed == whole
        assert Ledger(url).task_ids() == tasks
        assert server.counts()["total"] == calls, "no call is made twice"


def test_a_server_that_is_gone_is_no_pass_rate(tmp_path: Path) -> None:
    with ChatServer(echo_expert) as server:
        gone = flow(models={"explorer": {"model": "test", "base_url": server.url, "timeout_s": 5, "max_retries": 0}})
    with pytest.raises(SynthError, match="stopped after 10 attempts in a row that ended so"):
        run_flow(gone, str(tmp_path / "run"))
    assert Ledger(str(tmp_path / "run")).task_ids() == {}


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (
            {"name": NAME, "difficulty": {"target_pass_rate": 0.5, "against": "teacher"}},
            r"difficulty\.against: no role 'teacher'.*explorer",
        ),
        ({"name": "echo", "difficulty": {"target_pass_rate": 0.5}}, "'echo' has no setting that makes its tasks harder"),
        ({"name": NAME, "level": 0.2, "difficulty": {"target_pass_rate": 0.5}}, r"env\.level and env\.difficulty"),
    ],
)
def test_what_cannot_be_calibrated_is_told_before_anything_is_made(tmp_path: Path, env: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run_flow(flow(env=env), str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()
