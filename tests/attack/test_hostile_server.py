"""Whole flows against a server that lies in the place of a third of its answers: what comes of a
lie is a fault, or nothing at all.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from synth.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.flow import Flow
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import SampledBy, Trajectory
from tests.attack.hostile_server import ALL_LIES, CANARY, HostileServer
from tests.flow_files import run_flow
from tests.synth.models.chat_brains import Body, called

KINDS = ("sft", "dpo", "kto", "prm", "rl")


def act(goal: str, done: int, *, guided: bool) -> Mapping[str, Any]:
    """What the honest model does: it echoes word by word; where nobody guides it, it gets the
    second word of every third goal wrong.
    """
    words = goal.rpartition(": ")[2].split()
    if done == 1 and not guided and len(goal) % 3 == 0:
        return called("echo", {"text": "wrong"}, f"call_{done}")
    if done > len(words):
        return {"role": "assistant", "content": "done"}
    return called(
        *(("echo", {"text": words[done]}) if done < len(words) else ("finish", {})), f"call_{done}"
    )


def brain(body: Body) -> dict[str, Any]:
    """A function of the messages alone."""
    goal = next(message["content"] for message in body["messages"] if message["role"] == "user")
    told = "".join(
        message["content"] for message in body["messages"] if message["role"] == "system"
    )
    done = sum(bool(message.get("tool_calls")) for message in body["messages"])
    return dict(act(goal, done, guided=not told.rstrip().endswith("then call `finish`.")))


def storm(url: str, engine: str) -> Flow:
    """Trials, retries, tests of steps, filters, and every kind of rows."""
    model = {
        "engine": engine,
        "model": "test",
        "base_url": url,
        "timeout_s": 0.4,
        "max_retries": 2,
        "total_timeout_s": 2.5,
    }
    stages = [
        {"rollout": {"trials": 2, "shard": 7, "live": 24}},
        {"reflect_retry": {"likelihood": False, "off_policy_samples": 0}},
        {"critical_step": {"proposals": {"per_trajectory": 1, "alternatives": 1, "samples": 1}}},
        {"filter": ["solved", "signals", "duplicates", "reexecuted"]},
        {"export": {"kinds": list(KINDS)}},
    ]
    env = {"name": "echo", "tasks": 7, "turns": 3}
    return Flow.model_validate(
        {"name": "storm", "seed": 3, "env": env, "models": {"explorer": model}, "stages": stages}
    )


def foreign(found: Trajectory) -> list[int]:
    """The turns of a trajectory that the honest model would not have taken."""
    goal, wrong, done = found.opening[0].content, [], 0
    for turn in found.turns:
        guided = (
            found.guidance is not None
            and found.pivot_turn is not None
            and turn.index >= found.pivot_turn
        )
        honest = act(goal, done, guided=guided)
        calls = [
            (call["function"]["name"], call["function"]["arguments"])
            for call in honest.get("tool_calls", ())
        ]
        if turn.sampled_by is SampledBy.POLICY and turn.mask != "fault":
            same = [
                (call.name, call.arguments) for call in turn.tool_calls
            ] == calls and turn.content == honest["content"]
            wrong += [] if same else [turn.index]
        done += bool(turn.tool_calls)
    return wrong


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The outcomes of the trials where the server tells the truth."""
    url = str(tmp_path_factory.mktemp("honest") / "run")
    with HostileServer(brain, "0", lies=0, quirks=0) as server:
        flow = storm(server.url, "vllm")
        run_flow(flow.model_copy(update={"stages": flow.stages[:1]}), url)
    found = outcomes(url)
    assert set(found.values()) == {"success", "failure"}
    return found


def outcomes(url: str) -> dict[str, str]:
    """Of the trials, by task and trial; those that came to no outcome are left out."""
    with connect(StoredLedger(url)) as connection:
        rows = connection.execute(
            "SELECT task_id, trial, outcome FROM trajectories WHERE synthesizer = 'rollout' AND "
            "fault IS NULL"
        ).fetchall()
    return {f"{task} {trial}": outcome for task, trial, outcome in rows}


@pytest.mark.parametrize("engine", ["vllm", "openai"])
def test_a_storm_of_lies_ends_with_no_label_from_a_fault_and_leaves_the_rest_alone(
    engine: str, tmp_path: Path, honest: dict[str, str]
) -> None:
    url = str(tmp_path / "run")
    with HostileServer(brain, f"storm {engine}", lies=0.35) as server:
        run_flow(storm(server.url, engine), url)
    assert len(server.told) >= 40, (
        f"of {len(ALL_LIES)} kinds of lies only {len(server.told)} were told"
    )
    assert server.elsewhere == 0, "a call was sent on to where a redirection pointed"
    found = list(StoredLedger(url).trajectories(every=True))
    valid = [one for one in found if one.outcome is not Outcome.INVALID]
    faults = [one for one in found if one.outcome is Outcome.INVALID]
    assert faults, "no lie has ended an attempt: nothing was tested"
    assert {one.fault for one in faults} <= {"model", "timeout"}
    assert [(one.trajectory_id, foreign(one)) for one in valid if foreign(one)] == []
    assert not [
        one.trajectory_id
        for one in faults
        if one.reward is not None or one.check_result is not None
    ]
    ended = outcomes(url)
    assert len(ended) > len(honest) / 2
    assert {slot: outcome for slot, outcome in ended.items() if honest[slot] != outcome} == {}
    assert_nothing_of(url, {one.trajectory_id for one in faults})


def assert_nothing_of(url: str, faults: set[str]) -> None:
    """No label, decision or exported row rests on a faulty attempt or holds what a lie said; the
    canary stands in no valid trajectory.
    """
    with connect(StoredLedger(url)) as connection:
        judged = {
            row[0]
            for row in connection.execute(
                "SELECT trajectory_id FROM decisions WHERE keep"
            ).fetchall()
        }
        scored = [
            str(row)
            for row in connection.execute("SELECT subject_id, detail FROM scores").fetchall()
        ]
        turns = connection.execute(
            "SELECT x.* FROM turns_all x JOIN trajectories_all t USING (trajectory_id) WHERE "
            "t.fault IS NULL"
        ).fetchall()
    assert judged
    assert not judged & faults
    assert not [row for row in scored if CANARY in row]
    assert not [row for row in turns if CANARY in repr(row)]
    rows: dict[str, list[str]] = {}
    for kind in KINDS:
        tables = [
            pq.read_table(path) for path in sorted(Path(url, "datasets", kind).glob("*.parquet"))
        ]
        rows[kind] = [json.dumps(row, default=str) for table in tables for row in table.to_pylist()]
        assert not [row for row in rows[kind] if CANARY in row]
        assert not [row for row in rows[kind] if any(fault in row for fault in faults)], kind
    assert rows["sft"]
    assert rows["rl"]
