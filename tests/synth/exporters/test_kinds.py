"""Kinds beside SFT, from ledgers written by hand: what becomes a row, and what does not, by
reason.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from synth.cli.export import export as command
from synth.exporters.registry import FORMS, KINDS, form_of, kind_of
from synth.ledger.ledger import Decision, Score
from synth.schemas.check import Check, RowPredicate
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Planted, Source, ToolCall, Trajectory, Turn
from tests.synth.exporters.kind_rows import rows_of
from tests.synth.pairs.planted import planted
from tests.trajectories import make_trajectory


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_and_form_can_be_loaded_under_its_name(kind: str) -> None:
    assert kind_of(kind).name == kind
    forms = [name for of, name in FORMS if of == kind]
    assert [form_of(kind, name).name for name in forms] == forms


def task(**fields: Any) -> Task:
    checked = Check(required=(RowPredicate("orders", {"id": "O-1"}),))
    return Task.identified(
        **{
            "env": "echo",
            "goal": "Say it.",
            "seed": 3,
            "check": checked,
            "split": "train",
            **fields,
        }
    )


def trial(slot: str, of: Task, *, solved: bool = True, **fields: Any) -> Trajectory:
    outcome = Outcome.SUCCESS if solved else Outcome.FAILURE
    return make_trajectory(
        slot, task_id=of.task_id, outcome=outcome, reward=float(solved), check_result=None, **fields
    )


def test_an_rl_row_gives_the_whole_task_back_with_its_pass_counts(tmp_path: Path) -> None:
    one = task(difficulty={"level": 2}, env_config={"size": 4})
    ledger = planted(
        tmp_path, [trial("a", one), trial("b", one, solved=False), trial("c", one)], [], tasks=[one]
    )
    (row,), report = rows_of(tmp_path, "rl", ledger)
    assert msgspec.json.decode(row["task"], type=Task) == one
    assert (row["trials"], row["successes"], row["environment"], row["seed"], row["split"]) == (
        3,
        2,
        "echo",
        3,
        "train",
    )
    assert json.loads(row["check"]) == {"required": [{"table": "orders", "where": {"id": "O-1"}}]}
    shown = json.dumps([row["prompt"], row["tool_schemas"]])
    assert row["task_id"] not in shown
    assert "O-1" not in shown
    assert report.trained_turns == 0


def test_rl_tasks_held_out_unchecked_or_not_selected_are_left_out(
    tmp_path: Path,
) -> None:
    tasks = [
        task(),
        task(seed=4),
        task(benchmark="tau-bench/retail"),
        task(split="test"),
        task(check=None),
    ]
    refused = Decision(tasks[1].task_id, "select.rl", False, "seldom_mixed")
    ledger = planted(tmp_path, [trial("a", tasks[0])], [], tasks=tasks, decisions=[refused])
    rows, report = rows_of(tmp_path, "rl", ledger)
    assert [row["task_id"] for row in rows] == [tasks[0].task_id]
    assert report.left_out == {"benchmark": 1, "held_out": 1, "no_check": 1}
    assert report.filtered == {"select.rl:seldom_mixed": 1}
    every, _ = rows_of(
        tmp_path / "every",
        "rl",
        ledger,
        allow_benchmark=True,
        allow_held_out=True,
        honour=("solved",),
    )
    assert len(every) == 4


LABEL = {
    "status": "confirmed",
    "side": "agent",
    "description": "cancels the wrong order",
    "mode": "FM-1.1",
    "strategy": "rule",
}
COUNTS = {"q_pos": 1.0, "n_pos": 4, "q_neg": 0.0, "n_neg": 4}


def failed(slot: str, **fields: Any) -> Trajectory:
    """Opening, a turn with a call that a tool answers, a last turn."""
    call = ToolCall.received("c1", "cancel", '{"id": "O-2"}')
    turns = (
        Turn(
            index=0,
            content="Sure.",
            tool_calls=(call,),
            observations=(Observation("done", call_id="c1", name="cancel"),),
        ),
        Turn(index=1, content="Cancelled."),
    )
    found = make_trajectory(
        slot, task_id="k", outcome=Outcome.FAILURE, reward=0.0, check_result=None, **fields
    )
    return msgspec.structs.replace(
        found, turns=turns, opening=(Observation("Cancel O-1.", Source.USER),)
    )


def test_an_attribution_row_names_the_agent_and_the_message_of_the_mistake_with_its_counts(
    tmp_path: Path,
) -> None:
    run = failed("a")
    ledger = planted(
        tmp_path, [run], [Score(run.trajectory_id, "injection", 1.0, 1, LABEL | COUNTS)]
    )
    (row,), _ = rows_of(tmp_path, "attribution", ledger)
    assert (row["mistake_agent"], row["mistake_step"], row["is_correct"], row["label_status"]) == (
        "agent",
        "3",
        False,
        "confirmed",
    )
    assert row["history"] == [
        {"content": "Cancel O-1.", "role": "user"},
        {"content": 'Sure.\ncancel {"id": "O-2"}', "role": "assistant", "name": "agent"},
        {"content": "done", "role": "user", "name": "Computer_terminal"},
        {"content": "Cancelled.", "role": "assistant", "name": "agent"},
    ]
    assert row["history"][int(row["mistake_step"])]["name"] == row["mistake_agent"]
    assert row["mistake_reason"].startswith(
        "cancels the wrong order. With another act there 100% of 4"
    )


def test_of_a_fault_of_the_world_nobody_is_the_mistaken_agent(tmp_path: Path) -> None:
    run = failed("a")
    first = msgspec.structs.replace(
        run.turns[0],
        observations=(
            msgspec.structs.replace(run.turns[0].observations[0], planted=Planted("refused")),
        ),
    )
    run = msgspec.structs.replace(run, turns=(first, run.turns[1]))
    fault = Score(
        run.trajectory_id, "observation_fault", 1.0, 0, LABEL | COUNTS | {"side": "environment"}
    )
    (row,), _ = rows_of(tmp_path, "attribution", planted(tmp_path, [run], [fault]))
    assert (row["mistake_agent"], row["mistake_step"], row["fault_step"], row["label"]) == (
        None,
        None,
        "2",
        "observation_fault",
    )
    assert row["history"][2]["content"] == "done"


def test_unconfirmed_labels_are_left_out_and_the_earliest_confirmed_turn_counts(
    tmp_path: Path,
) -> None:
    weak, two = failed("weak"), failed("two")
    scores = [
        Score(weak.trajectory_id, "injection", 0.0, 0, LABEL | {"status": "weak"}),
        *(
            Score(two.trajectory_id, "repair", value, turn, LABEL)
            for turn, value in ((0, 0.0), (1, 1.0))
        ),
    ]
    ledger = planted(tmp_path, [weak, two], scores)
    (row,), report = rows_of(tmp_path, "attribution", ledger)
    assert (row["trajectory_id"], row["mistake_step"], report.left_out) == (
        two.trajectory_id,
        "3",
        {"weak_label": 1},
    )
    rows, _ = rows_of(tmp_path / "all", "attribution", ledger, include_weak=True)
    assert {row["trajectory_id"]: row["label_status"] for row in rows} == {
        weak.trajectory_id: "weak",
        two.trajectory_id: "confirmed",
    }


def traced(slot: str, answer: str) -> Trajectory:
    call = ToolCall.received("c1", "look_up", "{}")
    turns = (
        Turn(
            index=0,
            tool_calls=(call,),
            observations=(
                Observation('{"total": 1417.5, "id": "O-42460"}', call_id="c1", name="look_up"),
            ),
        ),
        Turn(index=1, content=answer),
    )
    found = make_trajectory(
        slot, task_id="k", outcome=Outcome.SUCCESS, reward=1.0, check_result=None
    )
    return msgspec.structs.replace(
        found, turns=turns, opening=(Observation("What did order O-42460 cost?", Source.USER),)
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Order O-42460 cost 1417.5 in all.", None),
        ("Order O-42460 cost 1550.0 in all.", "unsupported_answer"),
        ("You asked about O-42460.", "unsupported_answer"),
        ("", "no_answer"),
    ],
)
def test_a_question_is_compiled_only_where_tools_gave_all_that_its_answer_names(
    tmp_path: Path, answer: str, reason: str | None
) -> None:
    rows, report = rows_of(tmp_path, "memory", planted(tmp_path, [traced("a", answer)], []))
    if reason is not None:
        assert (rows, dict(report.left_out)) == ([], {reason: 1})
        return
    (row,) = rows
    assert (row["question"], row["answer"]) == ("What did order O-42460 cost?", answer)
    assert row["context"] == '[1] {"total": 1417.5, "id": "O-42460"}'
    assert [m["role"] for m in row["messages"]] == ["user", "assistant"]
    assert "look_up" not in json.dumps(row["messages"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--kind", "sfd", "--out", "x"],
            "--kind 'sfd' is not a kind of dataset; known: attribution, dpo, dpo_observed, kto, "
            "kto_observed, memory, prm, rl, sft",
        ),
        (
            ["--kind", "rl", "--as", "atif", "--out", "x"],
            "--as 'atif' is not a form of rl; known: trl, verl",
        ),
        ([], "give one of them"),
        (["--check", "--out", "x"], "give one of them"),
        (
            ["--check", "--as", "sts", "--unroll", "per_turn"],
            "form sts of sft cannot be written per turn; trl, llamafactory, axolotl",
        ),
    ],
)
def test_what_cannot_be_exported_is_one_line(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    planted(tmp_path, [traced("a", "x")], [])
    done = CliRunner().invoke(command, [str(tmp_path / "run"), *arguments])
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)
