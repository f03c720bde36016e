"""Every reply of a server is accounted for, whatever came of its episode."""

import json
from pathlib import Path

from tests.flow_files import model_flow, run_flow
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer, Mishap


def test_every_reply_of_the_server_is_accounted_for_whatever_came_of_its_episode(
    tmp_path: Path,
) -> None:
    mishaps = [None, None, Mishap("status", status=400), *[None] * 5, Mishap("status", status=400)]
    with ChatServer(echo_expert, mishaps=mishaps) as server:
        flow = model_flow(
            server.url,
            model={"max_retries": 0, "price": {"input": 1.0, "output": 2.0}},
            stages=[
                {"rollout": {"trials": 2}},
                {"filter": ["solved", "reexecuted"]},
                {"export": {"kinds": ["sft"], "as": "trl"}},
            ],
        )
        _, reports, _ = run_flow(flow, str(tmp_path / "run"))
        answered = server.counts()["answered"]
    found = json.loads((tmp_path / "run/cost.json").read_text())
    assert reports["rollout"]["faults"] == {"model": 2}
    assert (
        found["total"]["model_calls"]
        == answered
        == 8 * 4 + sum(row["model_calls"] for row in found["by_outcome"] if row["fault"])
    )
    assert [row["role"] for row in found["by"]] == ["explorer"]
    (sft,) = found["datasets"]
    assert (sft["rows"], sft["model_calls_per_row"]) == (8, answered / 8)
    assert found["unfinished"]["model_calls"] == 0
