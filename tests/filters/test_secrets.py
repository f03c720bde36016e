"""The filter `secrets`, on a chat that comes in by import: what it finds is in no export, and
nothing of it in the ledger's decisions.
"""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from synth.engine.progress import PlainProgress
from synth.filters.secrets import SecretsConfig
from synth.flows.curate import curate
from synth.importers.commit import import_into
from synth.importers.records import ImportSettings
from synth.ledger.redactions import tasks_without_findings
from synth.ledger.views import connect
from synth.set_aside import SetAside
from tests.flow_files import echo_flow, run_flow

pytestmark = pytest.mark.slow
MAIL = "ann.lee@mailhost.com"


def imported(folder: Path) -> str:
    chats = [
        {
            "messages": [
                {"role": "user", "content": f"write to {MAIL}"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "c1",
                            "function": {"name": "send", "arguments": json.dumps({"to": MAIL})},
                        }
                    ],
                },
                {
                    "role": "tool",
                    "tool_call_id": "c1",
                    "content": json.dumps({"sent": True, "log": json.dumps({"rcpt": MAIL})}),
                },
                {"role": "assistant", "content": f"Sent to {MAIL}."},
            ],
            "reward": 1,
        },
        {
            "messages": [
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": "hi"},
            ],
            "reward": 1,
        },
    ]
    source = folder / "chats.jsonl"
    source.write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    import_into(str(folder / "run"), [source], "auto", PlainProgress(StringIO()), ImportSettings())
    return str(folder / "run")


def curated(url: str, **settings: Any) -> tuple[Any, str]:
    stages = [{"filter": [{"secrets": settings}]}, {"export": {"kinds": ["sft"], "as": "trl"}}]
    _, reports, _ = run_flow(echo_flow(name="later", stages=stages), url, curate)
    rows = [
        row
        for path in sorted(Path(url).glob("datasets/sft/**/*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]
    return reports, json.dumps(rows, default=str)


def test_what_is_found_is_redacted_in_the_export_and_stands_in_no_decision(tmp_path: Path) -> None:
    url = imported(tmp_path)
    reports, rows = curated(url)
    assert reports["export"]["datasets"]["sft"]["rows"] == 2
    assert MAIL not in rows
    assert rows.count("[REDACTED:email:1]") == 4
    run, _, _ = run_flow(
        echo_flow(name="later", stages=[{"filter": [{"secrets": {}}]}]), url, curate
    )
    with connect(run.ledger) as connection:
        table = connection.execute(
            "SELECT reason, score, detail FROM decisions ORDER BY score"
        ).fetchall()
        kept = connection.execute("SELECT detail FROM scores_all").fetchall()
        named = {
            one for (one,) in connection.execute("SELECT task_id FROM trajectories").fetchall()
        }
    assert [(reason, score) for reason, score, _ in table] == [("clean", 0.0), ("redacted", 5.0)]
    assert MAIL not in f"{table} {kept}"
    tasks = run.ledger.tasks(named)
    assert sorted(task.goal for task in tasks.values()) == ["hello", f"write to {MAIL}"]
    assert sorted(
        task.goal for task in tasks_without_findings(run.ledger, tasks, SetAside()).values()
    ) == [
        "hello",
        "write to [REDACTED:email:1]",
    ]


def test_rows_are_dropped_where_the_flow_says_so_and_nothing_is_looked_through_again(
    tmp_path: Path,
) -> None:
    url = imported(tmp_path)
    curated(url)
    reports, rows = curated(url, action="drop")
    assert reports["export"]["datasets"]["sft"]["rows"] == 1
    assert reports["export"]["datasets"]["sft"]["filtered"] == {"secrets:email": 1}
    assert MAIL not in rows


def test_a_pattern_that_cannot_be_searched_is_refused_with_its_name() -> None:
    with pytest.raises(ValueError, match=r"badge.*look-around"):
        SecretsConfig(patterns={"badge": "(?=a)b"})
