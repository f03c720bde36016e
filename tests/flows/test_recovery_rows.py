"""Trials that went the wrong way and came back are taken within a quota, and what they did wrong is
never learnt.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from synth.ledger import StoredLedger
from synth.ledger.sql import query
from synth.policies.chance import turn_draws
from synth.schemas.environment import AgentTurn
from synth.schemas.flow import Flow
from synth.schemas.policy import Act, Episode, Policy, PolicySpec, View
from synth.schemas.trajectory import Authorship
from tests.flow_files import run_flow
from tests.synthesizers.fork_world import NAME, take, throw

pytestmark = pytest.mark.slow
POLICY = "tests.flows.test_recovery_rows:wavering"


class _Wavering:
    """Half of the time it goes left, from where nobody arrives; then every other time it says so
    and turns right.
    """

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    async def act(self, view: View) -> Act:
        draw = turn_draws(self._episode, view).random()
        if not view.turns:
            return Act(turn=take("left" if draw < 0.5 else "right"))
        if len(view.turns) == 1 and "left" in view.turns[0].tool_calls[0].arguments and draw < 0.5:
            return Act(
                turn=AgentTurn("My mistake: that is the wrong way.", take("right").tool_calls)
            )
        return Act(turn=throw(0))


def wavering(
    settings: Mapping[str, Any], *, model_name: str | None, sampling: Mapping[str, Any]
) -> PolicySpec:
    def open_policy(episode: Episode) -> Policy:
        return _Wavering(episode)

    return PolicySpec(
        name="wavering",
        authorship=Authorship.SCRIPTED,
        identity={"policy": "wavering"},
        open=open_policy,
    )


def flow(sft: dict[str, Any], export: dict[str, Any]) -> Flow:
    content = {
        "name": "recoveries",
        "seed": 3,
        "env": {"name": NAME, "tasks": 4, "left": 0, "right": 100},
        "models": {"explorer": {"policy": POLICY}},
        "stages": [
            {"rollout": {"trials": 16}},
            "topology",
            {"select": {"sft": {"per_task": 4, **sft}}},
            {"export": {"kinds": ["sft"], "include_scripted": True, **export}},
        ],
    }
    return Flow.model_validate(content)


def exported(url: str) -> list[dict[str, Any]]:
    rows = [
        row
        for shard in Path(url, "datasets", "sft").glob("*.parquet")
        for row in pq.read_table(shard).to_pylist()
    ]
    return [
        row | {"messages": [json.loads(message) for message in row.get("messages", ())]}
        for row in rows
    ]


def recovered(url: str) -> set[str]:
    sql = "SELECT subject_id FROM scores WHERE metric = 'recovered' AND value = 1"
    return {identity for (identity,) in query(StoredLedger(url), sql).fetchall()}


def test_the_wrong_turn_stays_in_the_context_without_loss_and_the_way_back_is_learnt(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(flow({"recovery_share": 1.0}, {"keep_masked": True}), url)
    came_back = {
        t.trajectory_id
        for t in StoredLedger(url).trajectories()
        if t.outcome == "success" and len(t.turns) == 3
    }
    assert recovered(url) <= came_back
    rows = exported(url)
    of = {row["trajectory_id"]: row for row in rows if row["trajectory_id"] in recovered(url)}
    assert of
    for row in of.values():
        assert row["trained_turns"] == [1, 2]
        assert row["masked_turns"] == [{"turn": 0, "reason": "excursion"}]
        assert row["messages"][2]["tool_calls"][0]["function"]["arguments"] == {"way": "left"}, (
            "it is still shown"
        )
    assert all(row["masked_turns"] == [] for row in rows if row["trajectory_id"] not in of)
    (line,) = (
        note
        for note in reports["export"]["datasets"]["sft"]["notes"]
        if "come back from an error" in note
    )
    assert line.startswith(f"{len(of)} of {len(rows)} rows come back")
    assert reports["export"]["datasets"]["sft"]["masked"] == {"excursion": len(of)}


def test_rows_of_one_turn_have_none_for_the_wrong_turn(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(flow({"recovery_share": 1.0}, {"unroll": "per_turn"}), url)
    prompts = [row["prompt"] for row in exported(url) if row["trajectory_id"] in recovered(url)]
    taken = {row["trajectory_id"] for row in exported(url)} & recovered(url)
    assert len(prompts) == 2 * len(taken) > 0


def test_recoveries_have_their_share_of_the_loss_that_is_left(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(flow({"recovery_share": 0.4}, {"keep_masked": True}), url)
    loss = {
        row["trajectory_id"]: sum(_size(row["messages"], turn) for turn in row["trained_turns"])
        for row in exported(url)
    }
    of_recoveries = sum(size for identity, size in loss.items() if identity in recovered(url))
    assert 0 < of_recoveries <= 0.4 * sum(loss.values())


def _size(messages: list[dict[str, Any]], turn: int) -> int:
    message = [one for one in messages if one["role"] == "assistant"][turn]
    calls = message.get("tool_calls", ())
    return len(message["content"] or "") + sum(
        len(call["function"]["name"] + json.dumps(call["function"]["arguments"])) for call in calls
    )


def test_where_no_export_can_say_that_a_turn_carries_no_loss_they_take_no_place(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    run_flow(flow({"recovery_share": 1.0}, {"unroll": "whole"}), url)
    sql = "SELECT trajectory_id FROM decisions WHERE filter = 'select' AND reason = 'masked_turns'"
    assert (
        {identity for (identity,) in query(StoredLedger(url), sql).fetchall()}
        == recovered(url)
        != set()
    )
    assert exported(url)
