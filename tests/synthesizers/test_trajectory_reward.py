"""Rewards of passed trials: 1 to 5 by a judge, asked once, never a verdict, null where nothing
could be read.
"""

import json
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from synth.engine.asking import UnreadableError
from synth.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.flow import Flow
from synth.schemas.model import Completion
from synth.selection.candidates import draw_rank
from synth.synthesizers.trajectory_reward import read_reward
from tests.flow_files import echo_flow, run_flow
from tests.synth.models.chat_server import ChatServer


def judged_flow(url: str, **stage: Any) -> Flow:
    models = {
        "explorer": {"policy": "expert", "profiles": "mixed"},
        "judge": {"model": "test", "base_url": url, "timeout_s": 5, "max_retries": 0},
    }
    stages = [{"rollout": {"trials": 4}}, {"trajectory_reward": {"tasks": "all"} | stage}]
    return echo_flow(models=models, stages=stages)


def says(text: Callable[[str], str]) -> Callable[[Any], dict[str, Any]]:
    return lambda body: {"role": "assistant", "content": text(body["messages"][1]["content"])}


def by_first_word(shown: str) -> str:
    """3 for tasks whose words begin with an amber, else 5."""
    return json.dumps({"reason": "so it is", "reward": 3 if "finish: amber" in shown else 5})


def rewards(url: Path) -> dict[str, float | None]:
    with connect(StoredLedger(str(url))) as connection:
        return dict(
            connection.execute(
                "SELECT subject_id, value FROM scores WHERE metric = 'trajectory_reward'"
            ).fetchall()
        )


@pytest.mark.slow
def test_passed_trials_are_judged_once_and_failed_ones_never(tmp_path: Path) -> None:
    with ChatServer(says(by_first_word)) as server:
        _, reports, _ = run_flow(judged_flow(server.url), str(tmp_path / "run"))
        asked = server.counts()["total"]
        run_flow(judged_flow(server.url), str(tmp_path / "run"))
        assert server.counts()["total"] == asked
    outcomes = {
        t.trajectory_id: t.outcome for t in StoredLedger(str(tmp_path / "run")).trajectories()
    }
    found = rewards(tmp_path / "run")
    assert set(found) == {
        identity for identity, outcome in outcomes.items() if outcome == "success"
    }
    assert 0 < len(found) == asked < len(outcomes), (
        "some trials failed, and nobody was asked about them"
    )
    assert reports["trajectory_reward"]["verified"] == len(found)


def test_a_reward_is_a_weight_among_all_that_were_judged(tmp_path: Path) -> None:
    with ChatServer(says(by_first_word)) as server:
        _, reports, _ = run_flow(judged_flow(server.url), str(tmp_path / "run"))
    found = list(rewards(tmp_path / "run").values())
    fives, threes = found.count(5.0), found.count(3.0)
    details = reports["trajectory_reward"]["details"]
    expected = {
        "3": round(3 * threes / (3 * threes + 5 * fives), 4),
        "5": round(5 * fives / (3 * threes + 5 * fives), 4),
    }
    assert details["share_of_draws"] == {
        reward: share for reward, share in expected.items() if share
    }


def drawn_flow(url: str, **select: Any) -> Flow:
    """Trials that all pass; of each task one row."""
    stages = [
        {"rollout": {"trials": 4}},
        {"trajectory_reward": {"tasks": "all"}},
        {"select": {"sft": {"per_task": 1, "cap": 1} | select}},
    ]
    models = judged_flow(url).model_dump(mode="json")["models"] | {"explorer": {"policy": "expert"}}
    return echo_flow(models=models, stages=stages, seed=3)


def selected(url: Path) -> set[str]:
    with connect(StoredLedger(str(url))) as connection:
        rows = connection.execute(
            "SELECT trajectory_id FROM decisions WHERE filter = 'select' AND keep"
        ).fetchall()
    return {identity for (identity,) in rows}


@pytest.mark.slow
def test_of_each_task_a_row_is_drawn_by_reward_where_the_flow_says_so(tmp_path: Path) -> None:
    numbers = cycle([5, 1, 3, 2])
    with ChatServer(
        says(lambda shown: json.dumps({"reason": "so it is", "reward": next(numbers)}))
    ) as server:
        run_flow(drawn_flow(server.url, by_reward=True), str(tmp_path / "run"))
        first = selected(tmp_path / "run")
        run_flow(drawn_flow(server.url, by_reward=True), str(tmp_path / "run"))
        run_flow(drawn_flow(server.url), str(tmp_path / "plain"))
    tasks = {
        trial.trajectory_id: trial.task_id
        for trial in StoredLedger(str(tmp_path / "run")).trajectories()
    }
    found = rewards(tmp_path / "run")
    expected: dict[str, str] = {}
    for identity in sorted(found, key=lambda identity: -draw_rank(3, identity, found[identity])):
        expected.setdefault(tasks[identity], identity)
    assert len(found) == 4 * len(expected)
    assert selected(tmp_path / "run") == first == set(expected.values())
    assert selected(tmp_path / "plain") != first, "without the setting the rewards decide nothing"


def test_drawing_by_rewards_that_nobody_gave_is_refused_in_one_line(tmp_path: Path) -> None:
    flow = drawn_flow("http://127.0.0.1:9", by_reward=True)
    unjudged = [stage for stage in flow.stages if stage.name != "trajectory_reward"]
    with pytest.raises(
        SynthError,
        match=r"^select: by_reward draws by the scores of the stage trajectory_reward, and none "
        r"came before it$",
    ):
        run_flow(flow.model_copy(update={"stages": tuple(unjudged)}), str(tmp_path / "run"))


@pytest.mark.slow
def test_what_cannot_be_read_is_null_and_counted(tmp_path: Path) -> None:
    with ChatServer(says(lambda shown: "Five stars!")) as server:
        _, reports, _ = run_flow(judged_flow(server.url), str(tmp_path / "run"))
    assert set(rewards(tmp_path / "run").values()) == {None}
    report = reports["trajectory_reward"]
    assert (report["verified"], report["rejected"]) == (0, {"unreadable": report["attempted"]})


def test_only_trials_of_derived_tasks_are_judged_where_nothing_else_is_said(tmp_path: Path) -> None:
    with ChatServer(says(by_first_word)) as server:
        run_flow(judged_flow(server.url, tasks="derived"), str(tmp_path / "run"))
        assert server.counts()["total"] == 0, "the echo world's tasks are templates"


def test_without_a_model_to_judge_the_flow_is_refused(tmp_path: Path) -> None:
    flow = echo_flow(stages=["rollout", "trajectory_reward"])
    with pytest.raises(
        ConfigError,
        match=r"trajectory_reward needs a model as 'judge': add `judge: {model: ...}` to the "
        r"flow's models",
    ):
        run_flow(flow, str(tmp_path / "run"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        '{"reward": 5}',
        '{"reason": "x", "reward": 6}',
        '{"reason": "x", "reward": 0}',
        '{"reason": "x", "reward": "5 of 5"}',
        '{"reason": "x", "reward": 4.5}',
        '{"reason": "x", "reward": true}',
    ],
)
def test_nothing_but_a_whole_number_from_1_to_5_is_a_reward(text: str) -> None:
    with pytest.raises(UnreadableError):
        read_reward(Completion(content=text))


def test_a_reward_is_read_out_of_a_fence() -> None:
    assert (
        read_reward(
            Completion(content='```json\n{"reason": "Well done.", "reward": 4}\n```')
        ).reward
        == 4
    )
