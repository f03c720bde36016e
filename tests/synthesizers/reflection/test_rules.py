"""Reflectors made of rules, on storefront: one looks at gold and is tagged, one sees what the agent
saw.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from datasets import load_dataset

from synth.engine.funnel import funnel_markdown
from synth.envs.sql.expert import MISCONCEPTIONS as OF_SQL
from synth.envs.storefront.expert.belief import MISCONCEPTIONS
from synth.ledger.views import connect
from synth.schemas.check import CheckResult, SubVerdict
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from synth.synthesizers.reflection.chain_rows import REFLECTION
from synth.synthesizers.reflection.rules import (
    KINDS,
    blind_reflection,
    informed_reflection,
    lessons_of,
    symptoms,
)
from tests.flow_files import run_flow
from tests.synthesizers.reflection.desk import details, reflecting_flow
from tests.trajectories import make_trajectory

EXPORT = {"export": {"kinds": ["sft"], "keep_masked": True, "include_scripted": True}}
SHOP: dict[str, Any] = {
    "env": {"name": "storefront", "tasks": 8},
    "models": {"explorer": {"policy": "expert", "profiles": "mixed"}},
    "trials": 3,
    "seed": 11,
}


def step(
    name: str,
    answer: str = '{"ok":true}',
    said: str | None = None,
    *,
    error: bool = False,
    **arguments: Any,
) -> Turn:
    answers = [Observation(answer, call_id="c", name=name, error=error)]
    answers += [] if said is None else [Observation(said, Source.USER)]
    return Turn(
        0,
        tool_calls=(ToolCall.received("c", name, json.dumps(arguments)),),
        observations=tuple(answers),
    )


def failed(*turns: Turn, evidence: tuple[str, ...] = ()) -> Trajectory:
    parts = (SubVerdict("told", True), SubVerdict("state", False, evidence))
    return msgspec.structs.replace(
        make_trajectory(
            turns=0,
            env="storefront",
            outcome=Outcome.FAILURE,
            reward=0.0,
            check_result=CheckResult(False, parts),
        ),
        turns=tuple(msgspec.structs.replace(turn, index=index) for index, turn in enumerate(turns)),
    )


ASK = step("ask_customer", said="Yes.", message="Shall I go ahead?")
LOOK = step("get_order", order_id="O-100")
CANCEL = step("cancel_order", order_id="O-100")


@pytest.mark.parametrize(
    ("env", "misconceptions"), [("storefront", set(MISCONCEPTIONS)), ("sql", set(OF_SQL))]
)
def test_every_misconception_of_a_world_has_a_lesson_and_every_lesson_is_called_for(
    env: str, misconceptions: set[str]
) -> None:
    known = lessons_of(env)
    assert known is not None
    assert set(known.lessons) == misconceptions
    assert {name for _, names in known.of_evidence for name in names} == misconceptions
    assert {name for names in known.of_symptom.values() for name in names} <= misconceptions
    assert set(known.of_symptom) == set(KINDS)


@pytest.mark.parametrize(
    ("evidence", "step_", "named"),
    [
        (
            "R2 in turn 2: cancel_order on O-100 without a yes of the customer to it",
            2,
            "skips_confirmation",
        ),
        ("changed although protected: orders/O-100/status", 2, "never_denies"),
        ("request 1 was not denied with R5 after a look-up of O-100", 2, "gives_in"),
        ("not told: money of O-100", 2, "stale_reads"),
        ("0 rows instead of 1: escalations {'reason_code': 'out_of_scope'}", 0, "over_refuses"),
    ],
)
def test_the_informed_one_reads_cause_and_place_out_of_the_checks_findings(
    evidence: str, step_: int, named: str
) -> None:
    found = informed_reflection(failed(LOOK, ASK, CANCEL, LOOK, evidence=(evidence,)))
    assert found is not None
    assert found.retry_from_step == step_
    assert found.improvement_suggestion is not None
    assert named in found.improvement_suggestion
    assert "O-100" not in found.improvement_suggestion, "a lesson holds no value of the episode"


def test_the_informed_one_has_nothing_to_say_without_findings() -> None:
    assert informed_reflection(make_trajectory()) is None
    assert informed_reflection(make_trajectory(check_result=None)) is None


def test_the_blind_one_says_the_same_whatever_the_check_found() -> None:
    attempt = failed(LOOK, ASK, CANCEL, evidence=("not told: money of O-100",))
    other = failed(
        LOOK,
        ASK,
        CANCEL,
        evidence=("R2 in turn 2: cancel_order on O-100 without a yes of the customer to it",),
    )
    assert (
        blind_reflection(attempt)
        == blind_reflection(other)
        == blind_reflection(msgspec.structs.replace(attempt, check_result=None))
    )


@pytest.mark.parametrize(
    ("turns", "kind", "at"),
    [
        ((LOOK, step("cancel_order", "denied: R3: it is shipped", error=True)), "refused", 1),
        ((LOOK, CANCEL), "unconfirmed", 1),
        ((LOOK, ASK, CANCEL, step("deny", said="Well.", rule_id="R4")), "denied", 3),
        ((ASK, LOOK, LOOK), "repeated", 2),
        (
            (step("reply", said="Not yet, I also asked for this: 2.", message="Done."),),
            "complaint",
            0,
        ),
    ],
)
def test_it_notices_what_an_agent_can_notice(turns: tuple[Turn, ...], kind: str, at: int) -> None:
    attempt = failed(*turns)
    first = symptoms(attempt)[0]
    assert (first.kind, first.turn) == (kind, at)
    found = blind_reflection(attempt)
    assert found is not None
    assert found.retry_from_step == at


def test_another_world_is_not_advised_in_terms_of_storefront() -> None:
    attempt = msgspec.structs.replace(
        failed(LOOK, CANCEL, evidence=("changed although protected: orders/O-100/status",)),
        env="another",
    )
    for found in (informed_reflection(attempt), blind_reflection(attempt)):
        assert found is not None
        assert found.retry_from_step == 1
        assert not any(name in (found.improvement_suggestion or "") for name in MISCONCEPTIONS)


def test_a_confirmed_write_is_no_symptom() -> None:
    assert symptoms(failed(LOOK, ASK, CANCEL)) == []


@pytest.mark.slow
def test_storefront_by_the_informed_one_is_tagged_and_said_loudly(tmp_path: Path) -> None:
    run, reports, said = run_flow(reflecting_flow("", None, EXPORT, **SHOP), str(tmp_path / "run"))
    report = reports["reflect_retry"]
    assert report["attempted"] == reports["rollout"]["outcomes"]["failure"] > 2
    assert report["verified"] + sum(report["rejected"].values()) == report["attempted"]
    assert report["verified"] > report["attempted"] / 3
    assert "rules reflect, by what the check found wrong: the retries are gold_informed" in said
    table = funnel_markdown(reports)
    assert f"| reflect_retry | {report['attempted']} | {report['verified']} | trials |" in table
    assert "cost nothing: no model was asked" in table
    retries = [t for t in run.ledger.trajectories() if t.synthesizer == "reflect_retry"]
    assert all(retry.gold_informed and retry.guidance and retry.parent_id for retry in retries)
    folder = tmp_path / "run" / "datasets" / "sft"
    card = (folder / "README.md").read_text().split("\n---\n", 1)[1]
    assert f"{report['verified']} of " in card.split("looked at gold")[0]
    rows = list(load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache")))
    tagged = [row for row in rows if row["gold_informed"]]
    assert len(tagged) == report["verified"]
    assert {row["synthesizer"] for row in tagged} == {"reflect_retry"}
    lines = {line for retry in retries for line in (retry.guidance or "").splitlines()}
    names = {name for retry in retries for name in MISCONCEPTIONS if name in (retry.guidance or "")}
    for row in rows:
        text = json.dumps(row["messages"])
        assert not any(line in text for line in lines)
        assert not any(name in text for name in names)


@pytest.mark.slow
def test_storefront_by_the_blind_one_is_not_tagged(tmp_path: Path) -> None:
    run, reports, said = run_flow(
        reflecting_flow("", {"reflector": "rules_blind"}, **SHOP), str(tmp_path / "run")
    )
    assert reports["reflect_retry"]["gold_informed"] is False
    assert "gold_informed" not in said
    assert not any(t.gold_informed for t in run.ledger.trajectories())
    assert all(found["gold_informed"] is False for found in details(run.ledger, REFLECTION))


@pytest.mark.slow
def test_a_kept_retry_is_solved_clean_and_executed_again_with_the_same_answers(
    tmp_path: Path,
) -> None:
    flow = reflecting_flow("", None, {"filter": ["solved", "reexecuted", "leaks"]}, **SHOP)
    run, _, _ = run_flow(flow, str(tmp_path / "run"))
    sql = """SELECT filter, keep, count(*) FROM decisions WHERE trajectory_id IN (
        SELECT trajectory_id FROM decisions WHERE filter = 'reflect_retry' AND keep INTERSECT
        SELECT trajectory_id FROM decisions WHERE filter = 'leak' AND keep) GROUP BY ALL"""
    with connect(run.ledger) as connection:
        found = {(name, keep): count for name, keep, count in connection.execute(sql).fetchall()}
    assert {keep for name, keep in found if name != "likelihood_leak"} == {True}
    assert set(found.values()) == {found["solved", True]}
    assert {name for name, _ in found} == {
        "solved",
        "reexecuted",
        "leaks",
        "leak",
        "likelihood_leak",
        "reflect_retry",
    }
