"""A row that cannot be handled is left out, counted and named, whatever is wrong with it; the run
goes on to its end, twice.
"""

import base64
import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from synth.flows.curate import curate
from synth.hub.publishing import prepare
from synth.hub.released import PublishRequest
from synth.ledger.ledger import Decision, Score, StageRef, StoredLedger
from synth.schemas.check import Check, CheckResult, RowPredicate, Tell
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory
from synth.set_aside import SetAside
from tests.attack.full_records import CARD, FLOAT, KEY, MAIL
from tests.flow_files import echo_flow, run_flow
from tests.trajectories import make_trajectory, make_turn

KINDS = ["sft", "dpo", "kto", "prm", "rl", "attribution", "memory"]
NUMBER = {"type": "object", "properties": {"card": {"type": "integer"}}}


def tools(**parameters: Any) -> tuple[dict[str, Any], ...]:
    return (
        {
            "type": "function",
            "function": {
                "name": "look",
                "description": "Looks.",
                "parameters": {"type": "object", **parameters},
            },
        },
    )


def deep(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def calling(arguments: str, **fields: Any) -> dict[str, Any]:
    call = ToolCall.received("call_0", "look", arguments)
    return {
        "turns": (
            make_turn(0, tool_calls=(call,)),
            make_turn(1, content="Done.", tool_calls=(), observations=()),
        ),
        **fields,
    }


ROWS: Mapping[str, dict[str, Any]] = {
    "plain": calling('{"at": 1}'),
    "mail": calling(
        json.dumps({"to": MAIL}), opening=(Observation(f"write to {MAIL}", Source.USER),)
    ),
    "float": calling(
        json.dumps({"weight": FLOAT}),
        check_result=CheckResult(True, facts={"a/1/b": FLOAT, "a/1/c": CARD}),
    ),
    "card for a number": calling(json.dumps({"card": CARD}), tools=tools(**NUMBER)),
    "card in a schema": calling(
        "{}", tools=tools(properties={"n": {"type": "integer", "maximum": CARD}})
    ),
    "world": calling("{}", env=f"shop of {MAIL}"),
    "deep": calling(deep(960)),
    "names": calling(
        "{}", model=f"llama of {MAIL}", policy=f"by {KEY}", source=f"/home/{MAIL}/runs"
    ),
    "colliding": {
        "turns": (
            make_turn(
                0,
                tool_calls=tuple(
                    ToolCall.received(one, "look", "{}") for one in (MAIL, MAIL.upper())
                ),
                observations=(),
            ),
        )
    },
    "not a number": {"turns": (make_turn(0, reward=float("nan")),), "reward": float("inf")},
}
"""What a row has, by what is the matter with it."""
LEFT_OUT = {
    "card for a number": "unlawful_argument",
    "card in a schema": "unlawful_tool_schema",
    "world": "secret_in_identifier",
    "colliding": "labels_collide",
}


def identity(name: str) -> str:
    return name.encode().hex()[:24].ljust(24, "0")


def a_task(name: str, **fields: Any) -> Task:
    given = {
        "env": "echo",
        "goal": f"Do {name}.",
        "check": Check(required=(RowPredicate("t", {"id": "1"}),)),
        **fields,
    }
    return msgspec.structs.replace(
        Task(task_id="", **given), task_id=identity(f"task {name}"[::-1])
    )


def trajectory(name: str, task: Task, **fields: Any) -> Trajectory:
    found = make_trajectory(identity(name), turns=0, task_id=task.task_id, system_prompt=None)
    return msgspec.structs.replace(found, trajectory_id=identity(name), **fields)


TASKS = {
    "goal": a_task("goal", goal=f"Write to {MAIL} with {KEY}."),
    "check": a_task("check", check=Check(told=(Tell("id", MAIL),))),
    "script": a_task("script", script={"name": "Ann", "token": KEY}),
    "gold": a_task("gold", gold=(ToolCall.received("g", "look", json.dumps({"card": CARD})),)),
    "untried": a_task("untried", goal=f"Never tried: {MAIL}"),
    "config": a_task("config", env_config={"ratio": FLOAT}),
}


def ledger_of(folder: Path) -> StoredLedger:
    """All rows, each of a task of its own, and those of `TASKS`, tried but for one."""
    ledger = StoredLedger(str(folder), create=True)
    tasks = {name: a_task(name) for name in ROWS}
    rows = [trajectory(name, tasks[name], **fields) for name, fields in ROWS.items()]
    rows += [
        trajectory(f"of {name}", task, **calling("{}"))
        for name, task in TASKS.items()
        if name != "untried"
    ]
    failed = msgspec.structs.replace(
        rows[1], trajectory_id=identity("failed"), slot_id="f", outcome=Outcome.FAILURE, reward=0.0
    )
    detail = {
        "status": "confirmed",
        "description": f"should have told {MAIL}",
        "q_pos": 1.0,
        "n_pos": 4,
        "q_neg": 0.0,
        "n_neg": 4,
    }
    scores = [
        Score(failed.trajectory_id, "repair", 1.0, 0, detail),
        Score(identity("of goal"), "repair", 1.0, 7, detail),
    ]
    scores += [
        Score(identity("plain"), "critical_step", 1.0, 0, {"pos_ids": "no list"}),
        Score(identity("float"), "repair", 1.0, 0),
    ]
    ledger.commit(
        StageRef("import", "import"),
        trajectories=[*rows, failed],
        tasks=[*tasks.values(), *TASKS.values()],
        scores=scores,
    )
    return ledger


def finished(folder: Path, action: str, **more: Any) -> Mapping[str, Mapping[str, Any]]:
    filters = {"filter": [{"secrets": {"action": action}}]}
    flow = echo_flow(
        env=None,
        models={},
        stages=[
            filters,
            {"select": {"sft": {}, "rl": {}}},
            {"export": {"kinds": KINDS, **more}},
            "report",
        ],
    )
    for _ in range(2):
        _, reports, _ = run_flow(flow, str(folder), curate)
    return reports


def leaving(folder: Path) -> str:
    rows = [
        row
        for path in sorted(folder.glob("datasets/*/*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]
    cards = [path.read_text() for path in folder.glob("datasets/*/README.md")]
    return json.dumps(rows, default=str) + "".join(cards)


def page(folder: Path) -> str:
    """All that the report holds, unpacked."""
    html = (folder / "report.html").read_text()
    blobs = re.findall(r'id="packed-[\w-]+">([A-Za-z0-9+/=]*)</script>', html)
    return html + "".join(gzip.decompress(base64.b64decode(blob)).decode() for blob in blobs)


@pytest.mark.parametrize("action", ["redact", "drop"])
def test_every_run_is_finished_and_nothing_that_was_found_leaves(
    action: str, tmp_path: Path
) -> None:
    ledger_of(tmp_path / "run")
    reports = finished(tmp_path / "run", action)
    for told in (leaving(tmp_path / "run"), page(tmp_path / "run")):
        assert [secret for secret in (MAIL, MAIL.upper(), KEY, str(CARD)) if secret in told] == []
    sft, rl = reports["export"]["datasets"]["sft"], reports["export"]["datasets"]["rl"]
    if action == "redact":
        counted = {f"set_aside:{reason}": 1 for reason in LEFT_OUT.values()}
        assert {
            reason: n for reason, n in sft["left_out"].items() if reason.startswith("set_aside")
        } == counted
        for name, reason in LEFT_OUT.items():
            assert any(
                line.startswith(f"Set aside as {reason}: {identity(name)}") for line in sft["notes"]
            )
        assert reports["select"]["parts"][0]["rejected"].items() >= counted.items()
    assert rl["left_out"]["set_aside:secret_in_task"] == {"redact": 3, "drop": 5}[action]
    assert sft["rows"] >= 2
    prepared = prepare(
        StoredLedger(str(tmp_path / "run")), PublishRequest("me/set", "mit"), tmp_path / "aside"
    )
    assert prepared.publication.rows["sft"] == sft["rows"]


def test_a_row_that_an_export_takes_in_against_the_filter_is_redacted_all_the_same(
    tmp_path: Path,
) -> None:
    ledger_of(tmp_path / "run")
    finished(tmp_path / "run", "drop", honour=["solved"])
    assert "[REDACTED:email:1]" in leaving(tmp_path / "run")
    assert [
        secret for secret in (MAIL, KEY, str(CARD)) if secret in leaving(tmp_path / "run")
    ] == []


OF_ANOTHER_TIME: Mapping[str, tuple[dict[str, Any], str | None]] = {
    "no such turn": (
        {"findings": [{"place": "turn.9.content", "start": 0, "end": 4, "kind": "email"}]},
        "finding_without_text",
    ),
    "before it": (
        {"findings": [{"place": "turn.1.content", "start": -4, "end": 2, "kind": "email"}]},
        "finding_without_text",
    ),
    "behind it": (
        {"findings": [{"place": "opening.0", "start": 3, "end": 10**9, "kind": "email"}]},
        "finding_without_text",
    ),
    "no place": ({"findings": [{"where": "somewhere"}]}, "unreadable_findings"),
    "no list": ({"findings": "three"}, "unreadable_findings"),
    "a key": (
        {"findings": [{"place": "check", "start": 2, "end": 8, "kind": "word"}]},
        "unlawful_redaction",
    ),
    "goal": ({"findings": [{"place": "goal", "start": 3, "end": 10**9, "kind": "email"}]}, None),
    "words": (
        {"findings": [{"place": "turn.1.content", "start": 0, "end": 4, "kind": "email"}]},
        None,
    ),
    "nothing": ({}, None),
}
"""Details of decisions that say `redacted`, and why their rows are set aside."""


def test_decisions_of_another_time_set_their_rows_aside(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    rows = [trajectory(name, a_task(name), **calling("{}")) for name in OF_ANOTHER_TIME]
    StoredLedger(url, create=True).commit(
        StageRef("import", "import"),
        trajectories=rows,
        tasks=[a_task(name) for name in OF_ANOTHER_TIME],
    )
    stages: list[Any] = [{"filter": ["secrets"]}]
    run, _, _ = run_flow(echo_flow(env=None, models={}, stages=stages), url, curate)
    ref = StageRef("filter", run.ledger.state.stages["filter"].stage_key)
    found = [
        Decision(identity(name), "secrets", True, "redacted", 1.0, detail)
        for name, (detail, _) in OF_ANOTHER_TIME.items()
    ]
    run.ledger.commit(ref, decisions=found)
    stages += [{"select": {"sft": {}}}, {"export": {"kinds": ["sft", "rl"]}}, "report"]
    for _ in range(2):
        _, reports, _ = run_flow(echo_flow(env=None, models={}, stages=stages), url, curate)
    sft, broken = (
        reports["export"]["datasets"]["sft"],
        {name: why for name, (_, why) in OF_ANOTHER_TIME.items() if why is not None},
    )
    assert sft["rows"] == len(OF_ANOTHER_TIME) - len(broken)
    assert sft["left_out"] == {
        "set_aside:finding_without_text": 3,
        "set_aside:unreadable_findings": 2,
        "set_aside:unlawful_redaction": 1,
    }
    assert reports["select"]["parts"][0]["rejected"].items() >= sft["left_out"].items()
    for name in broken:
        assert any(identity(name) in line for line in sft["notes"])
        assert identity(name) in page(tmp_path / "run"), "the page names what it leaves out"
    assert reports["export"]["datasets"]["rl"]["left_out"]["set_aside:finding_without_text"] == 4, (
        "with the goal that cannot be told"
    )


def test_each_row_counts_once_under_its_first_reason() -> None:
    aside = SetAside()
    for name in ("a", "b", "a", "c"):
        assert (
            aside.tried(name, lambda name=name: json.loads("[" * 10**5 if name == "c" else "{"))
            is None
        )
    assert aside.counts == {"set_aside:unreadable_value": 2, "set_aside:too_deep": 1}
    assert list(aside.lines()) == [
        "Set aside as too_deep: c.",
        "Set aside as unreadable_value: a, b.",
    ]
