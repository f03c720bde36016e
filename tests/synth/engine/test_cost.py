"""What is spent, by whom, on what, and for each kept row; all sums are worked out by hand."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.engine.cost import cost, cost_in_words, spent
from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.ledger.sql import query
from synth.ledger.storage.journal import Journal, JournaledReply
from synth.schemas.model import Completion
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.trajectory import Trajectory, Usage
from tests.trajectories import make_fault, make_trajectory, make_turn

ROLLOUT = StageRef("rollout", "k")


def attempt(slot: str, task: str, totals: Usage, **fields: Any) -> Trajectory:
    turns = fields.pop("turns", (make_turn(0, usage=totals),))
    made = make_trajectory(
        slot, **{"task_id": task, "role": "explorer", "model": "m", "totals": totals, **fields}
    )
    return msgspec.structs.replace(made, turns=turns)


def lost(slot: str, task: str, totals: Usage) -> Trajectory:
    fault = make_fault(slot)
    names = ("outcome", "termination", "fault", "fault_detail", "reward", "check_result")
    return attempt(slot, task, totals, **{name: getattr(fault, name) for name in names})


FIRST = Usage(1000, 200, 300, 2, 0.5)


FAULTY, SECOND = Usage(400, 0, 0, 1, 0.1), Usage(600, 100, 0, 1, 0.2)


@pytest.fixture
def ledger(tmp_path: Path) -> StoredLedger:
    """Two tasks; the second was solved after an attempt that ended in a fault."""
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    trajectories = [
        attempt("a", "t1", FIRST),
        lost("b", "t2", FAULTY),
        attempt("b", "t2", SECOND, attempt=1),
    ]
    ledger.commit(ROLLOUT, trajectories=trajectories)
    ledger.begin_stage(StageLine("rollout", "k", {}, ""))
    return ledger


def figures(row: dict[str, Any]) -> tuple[Any, ...]:
    names = ("attempts", "model_calls", "prompt_tokens", "cached_tokens", "completion_tokens")
    money = (
        pytest.approx(row[name]) if row[name] is not None else None
        for name in ("cost_usd", "known_cost_usd")
    )
    return (*(row[name] for name in names), *money, row["unpriced_calls"])


def exported(ledger: StoredLedger, rows: int) -> None:
    ledger.begin_stage(StageLine("export", "e", {}, ""))
    dataset = {"kind": "sft", "path": "datasets/sft", "rows": rows}
    ledger.finish_stage(StageRef("export", "e"), {"kind": "export", "datasets": {"sft": dataset}})


def test_attempts_that_ended_in_faults_are_spent_too(ledger: StoredLedger) -> None:
    found = cost(ledger)
    assert figures(found["total"]) == (3, 4, 2000, 300, 300, 0.8, 0.8, 0)
    by = {(row["outcome"], row["fault"]): figures(row) for row in found["by_outcome"]}
    assert by == {
        ("success", None): (2, 3, 1600, 300, 300, 0.7, 0.7, 0),
        ("invalid", "model"): (1, 1, 400, 0, 0, 0.1, 0.1, 0),
    }


def test_rows_of_former_flows_stay_spent(ledger: StoredLedger) -> None:
    ledger.begin_flow({"name": "another"})
    assert figures(cost(ledger)["total"]) == (3, 4, 2000, 300, 300, 0.8, 0.8, 0)
    assert spent(ledger).cost_usd == pytest.approx(0.8)


def test_sums_stand_by_stage_role_method_and_model(ledger: StoredLedger) -> None:
    calibration = attempt(
        "c",
        "t3",
        Usage(50, 10, 0, 1, 0.01),
        synthesizer="calibration",
        role="teacher",
        model="n",
        policy="chat",
    )
    ledger.commit(StageRef("calibrate", "other"), trajectories=[calibration])
    by = {
        (r["stage"], r["role"], r["synthesizer"], r["policy"], r["model"]): figures(r)
        for r in cost(ledger)["by"]
    }
    assert by == {
        ("rollout", "explorer", "rollout", "expert", "m"): (3, 4, 2000, 300, 300, 0.8, 0.8, 0),
        ("calibrate", "teacher", "calibration", "chat", "n"): (1, 1, 50, 0, 10, 0.01, 0.01, 0),
    }


def test_the_model_that_plays_the_user_has_a_line_of_its_own_and_makes_no_attempt_of_its_own(
    ledger: StoredLedger,
) -> None:
    talk = attempt(
        "d", "t4", Usage(100, 10, 0, 1, 0.03), user_model="u", user_totals=Usage(70, 7, 35, 2, 0.02)
    )
    ledger.commit(ROLLOUT, trajectories=[talk])
    found = cost(ledger)
    assert figures(found["total"]) == (4, 7, 2170, 335, 317, 0.85, 0.85, 0)
    (user,) = (row for row in found["by"] if row["role"] == "user")
    assert (user["model"], *figures(user)) == ("u", 1, 2, 70, 35, 7, 0.02, 0.02, 0)


def test_a_cost_without_a_price_is_null_and_what_is_known_is_told_beside_it(
    ledger: StoredLedger,
) -> None:
    ledger.commit(ROLLOUT, trajectories=[attempt("e", "t5", Usage(90, 10, 0, 3), model="free")])
    found = cost(ledger)
    assert figures(found["total"]) == (4, 7, 2090, 300, 310, None, 0.8, 3)
    (free,) = (row for row in found["by"] if row["model"] == "free")
    assert figures(free) == (1, 3, 90, 0, 10, None, None, 3)
    assert spent(ledger) == Usage(2090, 310, 300, 7, pytest.approx(0.8))


def test_one_reply_that_was_not_counted_makes_the_cost_of_its_attempt_unknown(
    ledger: StoredLedger,
) -> None:
    turns = (make_turn(0, usage=Usage(100, 10, 0, 1, 0.01)), make_turn(1, usage=Usage(calls=1)))
    totals = turns[0].usage + turns[1].usage
    ledger.commit(ROLLOUT, trajectories=[attempt("f", "t6", totals, turns=turns)])
    assert figures(cost(ledger)["total"]) == (4, 6, 2100, 300, 310, None, 0.81, 1)
    assert next(t for t in ledger.trajectories() if t.slot_id == "f").totals == totals


def test_calls_without_a_price_are_counted_by_reply_also_where_others_of_their_turn_have_one(
    ledger: StoredLedger,
) -> None:
    free, priced = Usage(10, 1, 0, 1), Usage(20, 2, 0, 1, 0.01)
    words = free + priced + free + free + priced  # 3 of 5 without a price
    turns = (
        make_turn(0, usage=free + priced),
        make_turn(1, usage=priced),
    )  # 1 of 3: a policy may ask twice for a turn
    talk = attempt(
        "t", "t8", free + priced + priced, turns=turns, user_model="u", user_totals=words
    )
    whole = attempt("w", "t9", priced, user_model="u", user_totals=free + free)  # 2 of 2
    ledger.commit(ROLLOUT, trajectories=[talk, whole])
    found = cost(ledger)
    by = {row["role"]: figures(row) for row in found["by"]}
    assert by["user"] == (2, 7, 90, 0, 9, None, 0.02, 5)
    assert by["explorer"] == (5, 8, 2070, 300, 307, None, 0.83, 1)
    assert figures(found["total"]) == (5, 15, 2160, 300, 316, None, 0.85, 6)
    kept = next(t for t in ledger.trajectories() if t.slot_id == "t")
    assert (kept.totals, kept.user_totals) == (talk.totals, words)


def test_a_scripted_run_has_no_cost_not_a_cost_of_nothing(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    ledger.commit(ROLLOUT, trajectories=[attempt("a", "t1", Usage(), model=None)])
    assert figures(cost(ledger)["total"]) == (1, 0, 0, 0, 0, None, None, 0)
    assert cost_in_words(cost(ledger)) == ""


def test_imports_cost_nothing_here(ledger: StoredLedger) -> None:
    foreign = attempt(
        "g",
        "t7",
        Usage(9999, 9, 0, 9, 9.0),
        outcome=Outcome.UNKNOWN,
        termination=Termination.DONE,
        check_result=None,
    )
    ledger.commit(StageRef("import", "i"), trajectories=[foreign])
    assert figures(cost(ledger)["total"]) == (3, 4, 2000, 300, 300, 0.8, 0.8, 0)


@pytest.mark.slow
def test_spending_by_task_is_spread_and_each_task_can_be_asked_for(ledger: StoredLedger) -> None:
    ledger.commit(ROLLOUT, trajectories=[attempt("h", "t3", Usage(60, 40, 0, 1, 0.0))])
    tasks = cost(ledger)["tasks"]
    spread = {name: tasks[f"{name}_tokens"] for name in ("least", "median", "mean", "most")}
    assert tasks["tasks"] == 3
    assert spread == {
        "least": 100,
        "median": 1100.0,
        "mean": 800.0,
        "most": 1200,
    }  # 100, 400 + 700, 1200
    assert [(row["task_id"], row["attempts"]) for row in tasks["dearest"]] == [
        ("t1", 1),
        ("t2", 2),
        ("t3", 1),
    ]
    asked = query(
        ledger,
        "SELECT task_id, sum(prompt_tokens), round(sum(cost_usd), 6) FROM spending GROUP BY "
        "task_id ORDER BY task_id",
    )
    assert asked.fetchall() == [("t1", 1000, 0.5), ("t2", 1000, 0.3), ("t3", 60, 0.0)]


def test_the_questions_of_the_docs_are_answered(ledger: StoredLedger) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "cost.md").read_text(encoding="utf-8")
    by_task, cached, per_success = (
        query(ledger, sql).fetchall() for sql in re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    )
    assert [(task, tokens) for task, tokens, _ in by_task] == [("t1", 1200), ("t2", 1100)]
    assert cached == [("explorer", "m", 15.0)]
    assert sorted(per_success) == [("t1", pytest.approx(0.5)), ("t2", pytest.approx(0.3))]


def test_everything_that_was_spent_is_laid_to_the_account_of_the_rows_that_were_kept(
    ledger: StoredLedger,
) -> None:
    exported(ledger, rows=2)
    (sft,) = cost(ledger)["datasets"]
    assert (sft["name"], sft["kind"], sft["path"], sft["rows"]) == ("sft", "sft", "datasets/sft", 2)
    assert (sft["attempts_per_row"], sft["model_calls_per_row"], sft["prompt_tokens_per_row"]) == (
        1.5,
        2.0,
        1000.0,
    )
    assert sft["completion_tokens_per_row"] == 150.0
    assert sft["cost_usd_per_row"] == pytest.approx(0.4)
    assert (
        cost_in_words(cost(ledger))
        == "2.3k tokens in 4 calls, $0.8; 1.1k tokens, $0.4 per row of sft"
    )


def test_a_dataset_without_rows_has_no_cost_per_row(ledger: StoredLedger) -> None:
    exported(ledger, rows=0)
    (sft,) = cost(ledger)["datasets"]
    assert (sft["cost_usd_per_row"], sft["prompt_tokens_per_row"]) == (None, None)


def test_what_calls_without_a_price_leave_unknown_is_said_in_words(ledger: StoredLedger) -> None:
    exported(ledger, rows=2)
    ledger.commit(ROLLOUT, trajectories=[attempt("e", "t5", Usage(90, 10, 0, 3), model="free")])
    words = cost_in_words(cost(ledger))
    assert (
        words == "2.4k tokens in 7 calls, $0.8 without the 3 calls whose price is not known; 1.2k "
        "tokens per row of sft"
    )


def test_replies_of_interrupted_episodes_are_told_apart_until_they_are_finished(
    ledger: StoredLedger,
) -> None:
    journal = Journal(ledger.journal_folder / "k-shard.jsonl")
    for ordinal, usage in enumerate((Usage(30, 3, 0, 1, 0.1), Usage(40, 4, 8, 1, 0.2))):
        journal.append(
            JournaledReply("open", 0, ordinal, "request", Completion("said", usage=usage))
        )
    journal.append(JournaledReply("a", 0, 0, "request", Completion("said", usage=FIRST)))
    journal.close()
    found = cost(ledger)
    assert figures(found["unfinished"]) == (1, 2, 70, 8, 7, 0.3, 0.3, 0)
    assert figures(found["total"]) == (3, 4, 2000, 300, 300, 0.8, 0.8, 0), (
        "an attempt that is committed is not told twice"
    )
