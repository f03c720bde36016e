"""The bare pass finds what the plain one finds, and what can be counted by hand."""

import json
from pathlib import Path
from typing import Any

from benchmarks.bare_pass import Found, fast_pass, plain_pass, shortest


def record(task: str, success: bool, *steps: tuple[str, str], said: str = "") -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": said}]
    for arguments, answer in steps:
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"function": {"name": "get", "arguments": arguments}}],
            }
        )
        messages.append({"role": "tool", "content": answer})
    return {"task_id": task, "success": success, "messages": messages}


def test_both_passes_count_graphs_ways_hits_and_copies(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    long = [('{"a": 1, "b": 2}', "x"), ('{"c": 3}', "y"), ('{"a": 9}', "z")]
    rows = [
        record("t1", True, *long, said="I'm sorry, not found"),
        record(
            "t1", True, ('{"b": 2, "a": 1}', "x"), ('{"a": 9}', "z")
        ),  # the first call is the same, in another order
        record(
            "t2",
            False,
            long[0],
            ("no json", "w"),
            said="mail a@b.example, card 1234 5678 1234 5678",
        ),
        record(
            "t3",
            False,
            long[0],
            ("no json", "w"),
            said="mail a@b.example, card 1234 5678 1234 5678",
        ),
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    # t1: START x z SUCCESS is three steps; hits: sorry and missing; address and card, twice; the
    # fourth is a copy of the third
    expected = Found(trajectories=4, graphs=3, solved=1, path_sum=3, hits=2 + 2 + 2, copies=1)
    assert fast_pass(file) == plain_pass(file) == expected


def test_the_shortest_way_runs_through_loops() -> None:
    assert shortest({0: {7}, 7: {7, 8}, 8: {0, 1}}) == 3
    assert shortest({0: {7}, 7: {0, 2}}) is None
