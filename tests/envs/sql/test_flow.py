"""A whole flow over databases, and over a file of one's own."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from synth import open_ledger, run
from synth.envs.sql.world import WORLD
from synth.schemas import AgentTurn, Task, ToolCall, canonical_json

FLOW = """
name: sql
seed: 3
env: {env}
models:
  explorer: {{policy: expert, profiles: mixed}}
stages:
  - rollout: {{trials: 4}}
  - filter: [solved, reexecuted]
  - export: {{kinds: [sft], include_scripted: true}}
"""


def rows(folder: Path) -> list[dict[str, object]]:
    found = [pl.read_parquet(path) for path in sorted(folder.rglob("*.parquet"))]
    return [row for frame in found for row in frame.to_dicts()]


async def done_again(row: dict[str, Any], task: Task) -> None:
    """Every message of a row that the world wrote is what it answers now, to the byte."""
    env = WORLD.open(task.env_config)
    opening = await env.reset(task)
    system, user, *said = map(json.loads, row["messages"])
    assert system["content"] == opening.system_prompt
    assert user["content"] == opening.observations[0].content
    expected: list[str] = []
    for message in said:
        if message["role"] != "assistant":
            assert message["content"].encode() == expected.pop(0).encode()
            continue
        assert expected == []
        calls = tuple(
            ToolCall.received(
                call["id"],
                call["function"]["name"],
                canonical_json(call["function"]["arguments"]).decode(),
            )
            for call in message.get("tool_calls") or ()
        )
        turn = AgentTurn(message["content"] or None, calls)
        expected = [seen.content for seen in (await env.step(turn)).observations]
    assert expected in ([], ["Thank you."])  # what a user says last is in no row
    assert (await env.check()).passed
    await env.close()


@pytest.mark.slow
def test_every_row_was_executed_again_to_the_byte_and_answers_with_a_query(tmp_path: Path) -> None:
    flow = tmp_path / "flow.yaml"
    flow.write_text(FLOW.format(env="{name: sql, tasks: 6, tables: 4}"), encoding="utf-8")
    run(flow, run_dir=tmp_path / "run")
    ledger = open_ledger(tmp_path / "run")
    judged = ledger.sql(
        "SELECT keep, count(*) AS n FROM decisions WHERE filter = 'reexecuted' GROUP BY keep"
    ).pl()
    assert judged.rows() == [(True, 24)]
    outcomes = dict(
        ledger.sql("SELECT outcome, count(*) FROM trajectories GROUP BY outcome").pl().iter_rows()
    )
    assert outcomes.keys() == {"success", "failure"}
    written = rows(tmp_path / "run" / "datasets" / "sft")
    assert len(written) == outcomes["success"]
    for row in written:
        asyncio.run(done_again(row, ledger.task(str(row["task_id"]))))
    tools = {
        call["function"]["name"]
        for row in written
        for message in map(json.loads, row["messages"])  # type: ignore[call-overload]
        for call in message.get("tool_calls") or ()
    }
    assert {"schema", "query"} < tools <= {"schema", "query", "answer", "change"}


@pytest.mark.slow
def test_a_file_of_ones_own_makes_tasks_and_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE maker (id INTEGER PRIMARY KEY, city TEXT, founded TEXT)")
        made.execute(
            "CREATE TABLE item (id INTEGER PRIMARY KEY, maker INTEGER REFERENCES maker(id), "
            "shape TEXT, price REAL, stock INTEGER)"
        )
        for n in range(1, 13):
            city = ("Arlen", "Esk", "Castor")[n % 3]
            made.execute(
                "INSERT INTO maker VALUES (?, ?, ?)", (n, city, f"19{n + 60}-0{n % 9 + 1}-11")
            )
        for n in range(1, 60):
            shape = ("round", "flat", "tall", None)[n % 4]
            made.execute(
                "INSERT INTO item VALUES (?, ?, ?, ?, ?)",
                (n, n % 12 + 1, shape, n * 7 % 31 + 0.5, n * 5 % 17),
            )
    made.close()
    before = path.read_bytes()
    flow = tmp_path / "flow.yaml"
    env = json.dumps({"name": "sql_file", "database": str(path), "tasks": 6})
    flow.write_text(FLOW.format(env=env).replace("mixed", "correct"), encoding="utf-8")
    run(flow, run_dir=tmp_path / "run")
    ledger = open_ledger(tmp_path / "run")
    outcomes = dict(
        ledger.sql("SELECT outcome, count(*) FROM trajectories GROUP BY outcome").pl().iter_rows()
    )
    assert outcomes == {"success": 24}
    goals = ledger.sql("SELECT goal FROM tasks").pl()["goal"].to_list()
    assert any("maker's city" in goal or "item" in goal for goal in goals)
    assert path.read_bytes() == before
    assert "shop.db" not in ledger.sql("SELECT * FROM tasks").pl().write_json()


@pytest.mark.slow
@pytest.mark.nightly
def test_the_config_that_is_shipped_writes_rows(tmp_path: Path) -> None:
    run("configs/sql.yaml", run_dir=tmp_path / "run")
    for kind in ("sft", "dpo"):
        assert rows(tmp_path / "run" / "datasets" / kind)
