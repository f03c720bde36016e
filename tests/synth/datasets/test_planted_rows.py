"""Rows planted with a reason to stay, beside the same ones without it: in every kind the latter
leave alone, and nothing else is in what the Hub would be sent.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from synth.exporters.registry import KINDS
from synth.flows.curate import curate
from synth.hub.publishing import prepare
from synth.hub.released import PublishRequest
from synth.ledger.ledger import Decision, Score, StageRef, StoredLedger
from synth.schemas.check import Check, CheckResult, RowPredicate
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.task import Task
from synth.schemas.trajectory import Authorship, Observation, Source, ToolCall, Trajectory, Turn
from tests.flow_files import run_flow
from tests.synth.pairs.planted import accepted, act, run, valued

CHATS, LABELLED = {"sft", "memory"}, {"dpo", "kto", "prm", "dpo_observed", "kto_observed"}
EVERY, NO_TASKS = set(KINDS), set(KINDS) - {"rl"}
INVALID: dict[str, Any] = {
    "outcome": Outcome.INVALID,
    "termination": Termination.FAULT,
    "reward": None,
}
FLAWS: dict[str, tuple[dict[str, Any], str | None, set[str]]] = {
    "fault": ({**INVALID, "fault": Fault.MODEL}, None, NO_TASKS),
    "drift": ({**INVALID, "fault": Fault.DRIFT}, None, NO_TASKS),
    "benchmark": ({"benchmark": "tau-bench"}, None, EVERY),
    "held_out": ({"split": "test"}, None, EVERY),
    "split": ({}, "split", EVERY),
    "secrets": ({}, "secrets", EVERY),
    "leak": ({}, "leaks", EVERY),
    "contamination": ({}, "contamination", EVERY),
    # what a continuation does at its turn is no copy, so kinds of single turns keep that row
    "duplicate": ({}, "duplicates", EVERY - LABELLED),
    "provenance": ({}, "provenance", CHATS | {"rl"}),
    "filter": ({}, "pdi", CHATS | {"rl"}),
    "outcome": ({"outcome": Outcome.UNKNOWN, "reward": None}, None, CHATS | {"attribution"}),
    "unverified": (
        {"outcome": Outcome.UNKNOWN, "reward": None, "check_result": CheckResult(None)},
        None,
        CHATS | {"attribution"},
    ),
    "scripted": ({"authorship": Authorship.SCRIPTED}, None, NO_TASKS),
    "evidence_only": ({"synthesizer": "critical_step"}, None, CHATS),
    "weak_label": ({}, None, {"attribution"}),
}
"""Reason -> (what a trajectory has, or the filter that dropped it; the kinds that it is kept out
of).
"""


def a_task(name: str, **fields: Any) -> Task:
    check = Check(required=(RowPredicate("orders", {"id": "1"}),))
    return Task.identified(env="echo", goal=f"Bring {name}.", seed=1, check=check, **fields)


def answered(slot: str, task: str, **fields: Any) -> Trajectory:
    """Ends with words that stand on what a tool gave: a row of `sft` and of `memory`."""
    call = ToolCall.received("c0", "look", '{"what": "lamp"}')
    seen = Observation(f"the lamp of {slot} is LAMP-{slot}-1417", call_id="c0", name="look")
    turns = (
        Turn(index=0, tool_calls=(call,), observations=(seen,), state_key="a"),
        Turn(index=1, content=f"It is LAMP-{slot}-1417.", state_key="b"),
    )
    return run(slot, *turns, solved=True, task=task, **fields)


def rows_of_every_kind(
    name: str, fields: dict[str, Any], status: str
) -> tuple[list[Trajectory], list[Score], Task]:
    task = a_task(
        name, **{key: value for key, value in fields.items() if key in ("benchmark", "split")}
    )
    opening = (Observation(f"Bring the lamp, or the chair of {name}.", Source.USER),)
    given = {"opening": opening, **fields}
    chat = answered(f"chat-{name}", task.task_id, **given)
    # the same tool, since step labels of one tool alone stand in pairs
    chair = act(1, "take", arguments={"what": "chair"})
    base = run(f"base-{name}", act(0), chair, solved=False, task=task.task_id, **given)
    better = run(
        f"better-{name}",
        act(0),
        act(1, "take"),
        solved=True,
        task=task.task_id,
        parent_id=base.trajectory_id,
        pivot_turn=1,
        **given,
    )
    # another act where the failed trial looked: what collected trials are compared by
    other = run(f"other-{name}", act(0, "take"), solved=True, task=task.task_id, **given)
    cause = {
        "status": status,
        "side": "agent",
        "description": "drops it",
        "mode": "FM-1.1",
        "strategy": "rule",
        "q_pos": 1.0,
        "n_pos": 4,
        "q_neg": 0.0,
        "n_neg": 4,
    }
    written = {"alternative_authorship": str(fields.get("authorship", "model"))}
    scores = [
        accepted(base, 1, better, **written),
        valued(better, 1, 4, 4, 1.0),
        Score(base.trajectory_id, "repair", float(status == "confirmed"), 1, cause),
    ]
    return [chat, base, better, other], scores, task


def curated(folder: Path, reason: str, **export: Any) -> tuple[StoredLedger, set[str]]:
    """The run, and the ids of what is planted in it."""
    fields, name, _ = FLAWS[reason]
    status = "weak" if reason == "weak_label" else "confirmed"
    clean, scores, task = rows_of_every_kind("clean", {}, "confirmed")
    flawed, more, flawed_task = rows_of_every_kind("flawed", fields, status)
    planted = {one.trajectory_id for one in flawed} | {flawed_task.task_id}
    decisions = [Decision(one, name, False, "found") for one in sorted(planted)] if name else []
    if name:
        decisions += [Decision(one.trajectory_id, name, True, "clean") for one in clean]
    ledger = StoredLedger(str(folder), create=True)
    ledger.commit(
        StageRef("import", "import"),
        trajectories=[*clean, *flawed],
        tasks=[task, flawed_task],
        scores=[*scores, *more],
        decisions=decisions,
    )
    flow = {"name": "release", "stages": [{"export": {"kinds": sorted(KINDS), **export}}]}
    run_flow(Flow.model_validate(flow), str(folder), curate)
    return StoredLedger(str(folder)), planted


def held(folder: Path, kind: str) -> str:
    """All that a dataset's rows hold, as text; empty without a dataset."""
    shards = sorted((folder / "datasets" / kind).glob("*.parquet"))
    rows = [row for shard in shards for row in pq.read_table(shard).to_pylist()]
    return json.dumps(rows, default=str)


@pytest.mark.slow
@pytest.mark.parametrize("reason", sorted(FLAWS))
def test_a_planted_row_stays_out_of_every_kind_that_it_is_kept_out_of_and_of_the_hub(
    reason: str, tmp_path: Path
) -> None:
    ledger, planted = curated(tmp_path / "run", reason)
    kept_out = FLAWS[reason][2]
    clean = {"sft": "chat-clean", "rl": "Bring clean."}
    for kind in sorted(kept_out):
        found = held(tmp_path / "run", kind)
        assert [one for one in planted if one in found] == [], kind
        assert "flawed" not in found, kind
        assert clean.get(kind, "clean") in found, kind
    if reason in ("benchmark", "held_out"):
        assert kept_out == EVERY
    prepared = prepare(
        ledger, PublishRequest("me/set", "mit", tuple(sorted(kept_out))), tmp_path / "aside"
    )
    sent = [held(tmp_path / "run", kind) for kind in prepared.publication.rows]
    sent += [str(file.content) for file in prepared.publication.traces]
    assert set(prepared.publication.rows) == kept_out
    assert not any(one in text for one in planted for text in sent)


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["benchmark", "held_out"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_an_export_let_in_a_publication_lets_in_only_where_it_is_told_so_itself(
    kind: str, reason: str, tmp_path: Path
) -> None:
    ledger, planted = curated(tmp_path / "run", reason, kinds=[kind], **{f"allow_{reason}": True})
    found = held(tmp_path / "run", kind)
    assert any(one in found for one in planted)
    with pytest.raises(ConfigError, match=f"{kind}: .* rows are attempts at .* publishes them"):
        prepare(ledger, PublishRequest("me/set", "mit"), tmp_path / "aside")
    allowed = msgspec.structs.replace(PublishRequest("me/set", "mit"), **{f"allow_{reason}": True})
    assert prepare(ledger, allowed, tmp_path / "aside").publication.rows.keys() == {kind}
