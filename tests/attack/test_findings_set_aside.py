"""A row that cannot be handled is left out, counted and named, whatever is wrong with it; the run
goes on to its end, twice.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from synth.flows.curate import curate
from synth.hub.publishing import prepare
from synth.hub.released import PublishRequest
from synth.ledger.ledger import Score, StageRef, StoredLedger
from synth.schemas.check import Check, CheckResult, Tell
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Observation, Source, ToolCall
from tests.attack.findings_runs import a_task, calling, identity, page, trajectory
from tests.attack.full_records import CARD, FLOAT, KEY, MAIL
from tests.flow_files import echo_flow, run_flow
from tests.trajectories import make_turn

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
