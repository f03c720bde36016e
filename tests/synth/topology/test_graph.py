"""Trials of a task as one graph: who is counted, what is merged, what the counts are."""

from typing import Any

import pytest
from msgspec import structs

from synth.ledger.tables.graph_rows import Edge, Node
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.trajectory import Observation, Turn
from synth.topology.graph import (
    FAILURE,
    START,
    SUCCESS,
    TaskGraph,
    is_donor,
    task_graph,
)
from synth.topology.keys import explained, trajectory_keys
from synth.topology.of_task import task_rows
from synth.topology.stored_graph import GraphRows, networkx_of
from tests.synth.topology.trials import trial, turn


def graph(*trials: Any, level: Any = "exact") -> TaskGraph:
    return task_graph("t", [(one, trajectory_keys(one)) for one in trials], level)


def counts(about: dict[str, int]) -> tuple[int, int]:
    return about["n"], about["n_success"]


def names(found: TaskGraph) -> dict[str, str]:
    """Node -> the letter that it stands for, by the first trial's path."""
    return {
        node: letter
        for trial_, path in zip(found.trials, ("abc", "abd", "aab"), strict=False)
        for node, letter in zip(trial_.nodes, path, strict=True)
    }


def test_equal_turns_are_one_node_and_loops_are_counted_once_per_trial() -> None:
    found = graph(trial("1", "abc", True), trial("2", "abd", False), trial("3", "aab", True))
    by_letter = {
        names(found)[node]: counts(about)
        for node, about in found.ways.nodes(data=True)
        if node in names(found)
    }
    assert by_letter == {"a": (3, 2), "b": (3, 2), "c": (1, 1), "d": (1, 0)}
    assert [found.ways.nodes[end]["n"] for end in (START, SUCCESS, FAILURE)] == [3, 2, 1]
    letters = {**names(found), START: START, SUCCESS: SUCCESS, FAILURE: FAILURE}
    edges = {
        letters[one] + ">" + letters[other]: counts(about)
        for one, other, about in found.ways.edges(data=True)
    }
    assert edges == {
        "START>a": (3, 2),
        "a>b": (3, 2),
        "b>c": (1, 1),
        "b>d": (1, 0),
        "c>SUCCESS": (1, 1),
        "d>FAILURE": (1, 0),
        "a>a": (1, 1),
        "b>SUCCESS": (1, 1),
    }
    assert found.singletons() == 0.5


@pytest.mark.parametrize(
    "changes",
    [
        {"synthesizer": "reflect_retry"},
        {"synthesizer": "critical_step"},
        {"parent_id": "p", "pivot_turn": 1},
        {"guidance": "look"},
        {"outcome": Outcome.UNKNOWN, "termination": Termination.UNREPORTED},
    ],
)
def test_interventions_and_what_has_no_verdict_never_enter(changes: dict[str, Any]) -> None:
    other = trial("2", "ab", True, **changes)
    assert not is_donor(other)
    with pytest.raises(ValueError, match="is no trial"):
        graph(trial("1", "ab", True), other)


def test_trials_of_two_policies_make_no_one_graph() -> None:
    with pytest.raises(ValueError, match="of 2 policies"):
        graph(trial("1", "ab", True), trial("2", "ab", True, sampling={"temperature": 1.0}))


def test_arguments_are_compared_by_value_and_observations_without_nondeterministic_spans() -> None:
    stamp = "done at 2026-01-05T10:00:0{} by job 1f0e8a6c-0000-4000-8000-00000000000{}"
    one = trial("1", [turn(0, "get", stamp.format(1, 1), id=" A  1 ", amount=2.0)], True)
    other = trial("2", [turn(0, "get", stamp.format(2, 2), amount=2, id="A 1")], True)
    (first,), (second,) = trajectory_keys(one), trajectory_keys(other)
    assert first.turn == second.turn
    assert list(explained(first, second)) == ["action: equal", "observation: equal", "state: equal"]


@pytest.mark.parametrize(
    ("answer", "again"),
    [
        ("total 12.50", "total 12.05"),
        ("order O-7731", "order O-7732"),
        ("2026-01-05", "2026-01-06"),
    ],
)
def test_what_a_task_may_ask_for_is_never_masked(answer: str, again: str) -> None:
    (first,), (second,) = (
        trajectory_keys(trial("1", [turn(0, "get", answer)], True)),
        trajectory_keys(trial("2", [turn(0, "get", again)], True)),
    )
    assert first.observation != second.observation
    assert (
        next(line for line in explained(first, second) if line.startswith("observation")).count(
            answer
        )
        == 1
    )


def test_at_the_level_of_states_wording_and_arguments_are_merged_where_the_world_is_the_same() -> (
    None
):
    one = trial("1", [turn(0, "get", "A", "s0", id=1), turn(1, "set", "ok", "s1", to=1)], True)
    other = trial("2", [turn(0, "get", "B", "s0", id=2), turn(1, "set", "done", "s1", to=1)], False)
    assert len(graph(one, other, level="state").ways) == 3 + 2
    assert len(graph(one, other).ways) == 3 + 4


def test_without_a_logical_state_the_history_of_turns_tells_states_apart() -> None:
    one = trial("1", [turn(0, "a"), turn(1, "c")], True)
    other = trial("2", [turn(0, "b"), turn(1, "c")], True)
    assert trajectory_keys(one)[1].state != trajectory_keys(other)[1].state
    assert trajectory_keys(one, history=0)[1].state == trajectory_keys(other, history=0)[1].state


def test_schema_defaults_are_filled_in_and_sets_have_one_order() -> None:
    parameters = {
        "properties": {
            "page": {"default": 1},
            "ids": {"type": "array", "uniqueItems": True},
            "path": {"type": "array"},
        }
    }
    tools = ({"type": "function", "function": {"name": "list", "parameters": parameters}},)
    one = trial("1", [turn(0, "list", ids=["b", "a"], path=[1, 2])], True, tools=tools)
    same = trial("2", [turn(0, "list", ids=["a", "b"], page=1, path=[1, 2])], True, tools=tools)
    other = trial("3", [turn(0, "list", ids=["a", "b"], page=1, path=[2, 1])], True, tools=tools)
    keys = [trajectory_keys(t)[0].action for t in (one, same, other)]
    assert keys[0] == keys[1] != keys[2]


def test_the_words_of_an_answer_count_without_case_and_white_space_and_reasoning_never() -> None:
    one = trial("1", [Turn(0, content="It is  SENT.", thought="hm")], True)
    other = trial(
        "2", [Turn(0, content="it is sent.", thought="ah", observations=(Observation("ok"),))], True
    )
    assert trajectory_keys(one)[0].action == trajectory_keys(other)[0].action


def test_every_count_is_one_of_trials() -> None:
    found = graph(trial("1", "ab", True), trial("2", "ac", False)).ways
    assert found.nodes[START] == {"n": 2, "n_success": 1}
    assert sum(about["n"] for _, _, about in found.in_edges(SUCCESS, data=True)) == 1


def test_of_all_that_a_run_holds_only_base_trials_of_one_policy_are_counted_together() -> None:
    base = [trial("base1", "ab", True), trial("base2", "ac", False)]
    injected = trial(
        "injected", [turn(0, "a"), structs.replace(turn(1, "b"), injected="wrong_argument")], False
    )
    imported = trial("imported", "ab", True, synthesizer="import", model="another", policy="import")
    never = [
        trial(
            "retry",
            "ab",
            True,
            synthesizer="reflect_retry",
            parent_id="base2",
            pivot_turn=0,
            guidance="look",
        ),
        trial("branch", "ab", True, parent_id="base1", pivot_turn=1),
        trial(
            "injection",
            "ab",
            False,
            synthesizer="failure_injection",
            parent_id="base1",
            pivot_turn=1,
        ),
        trial(
            "evidence", "ab", True, synthesizer="second_evidence", parent_id="base1", pivot_turn=0
        ),
        trial(
            "test of a step",
            "ab",
            True,
            synthesizer="critical_step",
            parent_id="base2",
            pivot_turn=0,
        ),
        trial("walk", "ab", True, synthesizer="reverse_task"),
        injected,
    ]
    rows = task_rows("t", [*never[:3], *base, imported, *never[3:]])
    starts = sorted((node.n, node.n_success) for node in rows.nodes if node.node == START)
    assert starts == [(1, 1), (2, 1)], "the import of another model has a graph of its own"
    assert {score.subject_id for score in rows.scores if score.metric == "potential"} == {
        "base1",
        "base2",
        "imported",
    }
    assert {node.trajectory_id for node in rows.nodes} <= {"base1", "base2", "imported", None}
    alone = task_rows("t", base)
    assert [score for score in rows.scores if score.subject_id.startswith("base")] == [
        score for score in alone.scores if score.subject_id.startswith("base")
    ]


def test_rows_are_the_same_in_whatever_order_workers_committed_the_trials() -> None:
    """An example of a node is a turn of its first trial."""
    trials = [
        trial(f"x{number}", "ab" * (1 + number), number % 2 == 0, trial=number)
        for number in range(4)
    ]
    assert task_rows("t", trials[::-1]) == task_rows("t", trials)


def test_a_node_says_where_it_lies_in_the_graph() -> None:
    ways = ["START>a", "a>b", "a>c", "c>b", "b>b", "b>SUCCESS", "c>FAILURE"]
    names = dict.fromkeys(name for way in ways for name in way.split(">"))
    found = networkx_of(
        GraphRows(
            [Node("t", name, "p", "exact", 1, 1) for name in names],
            [Edge("t", *way.split(">"), "p", "exact", 1, 1) for way in ways],
        )
    )
    # FAILURE leads nowhere; c can be gone round, a and b cannot
    assert {name: to for name, to in found.nodes(data="to_success") if to is not None} == {
        "START": 3,
        "a": 2,
        "b": 1,
        "c": 2,
        "SUCCESS": 0,
    }
    assert {name for name, gate in found.nodes(data="gate") if gate} == {"START", "a", "b"}
    assert {name for name, loop in found.nodes(data="loop") if loop} == {"b"}
    # a lies on the shortest ways from START to b, c, SUCCESS and FAILURE: 4 of (6 - 1) (6 - 2)
    assert found.nodes["a"]["between"] == pytest.approx(4 / 20)


def test_without_a_success_no_node_is_near_one_and_none_is_a_gate() -> None:
    found = networkx_of(
        GraphRows(
            [Node("t", name, "p", "exact", 1, 0) for name in (START, "a", FAILURE)],
            [
                Edge("t", START, "a", "p", "exact", 1, 0),
                Edge("t", "a", FAILURE, "p", "exact", 1, 0),
            ],
        )
    )
    assert not {"to_success", "gate"} & found.nodes["a"].keys()
