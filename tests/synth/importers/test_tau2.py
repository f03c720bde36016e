"""tau2 results, hand-written: how they ended, whose calls are whose, and the three shapes in which
they are stored.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from synth.importers.records import Imported, ImportSettings, Rejection
from synth.schemas.outcome import Fault, Outcome
from synth.schemas.text.messages import GREETING_MASK
from tests.synth.importers.imports import imported

INFO = {
    "agent_info": {"implementation": "llm_agent", "llm": "m-1", "llm_args": {"temperature": 0.5}},
    "environment_info": {"domain_name": "telecom", "policy": "Be kind.", "tool_defs": None},
}
TASK = {
    "id": "t1",
    "user_scenario": {
        "persona": None,
        "instructions": {
            "domain": "telecom",
            "reason_for_call": "No signal.",
            "task_instructions": "Ask.",
        },
    },
    "evaluation_criteria": {
        "actions": [
            {
                "action_id": "a",
                "requestor": "assistant",
                "name": "enable",
                "arguments": {"line": "L1"},
            },
            {"action_id": "b", "requestor": "user", "name": "toggle", "arguments": {}},
        ],
        "reward_basis": ["DB"],
    },
}
MESSAGES: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "content": "Hi! How can I help you today?",
        "tool_calls": None,
        "usage": None,
        "cost": 0.0,
    },
    {"role": "user", "content": "No signal.", "tool_calls": None},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "c1",
                "name": "get_line",
                "arguments": {"line": "L1", "ä": 1.5},
                "requestor": "assistant",
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 3},
        "cost": 0.25,
    },
    {
        "role": "tool",
        "id": "c1",
        "content": "no such line",
        "requestor": "assistant",
        "error": True,
    },
    {
        "role": "assistant",
        "content": "Toggle it.",
        "tool_calls": None,
        "usage": {"prompt_tokens": 20, "completion_tokens": 4},
        "cost": 0.5,
    },
    {
        "role": "user",
        "content": "wait",
        "tool_calls": [{"id": "u1", "name": "toggle", "arguments": {}, "requestor": "user"}],
    },
    {"role": "tool", "id": "u1", "content": "toggled", "requestor": "user", "error": False},
    {"role": "user", "content": "###STOP###", "tool_calls": None},
]


def simulation(**fields: Any) -> dict[str, Any]:
    base = {
        "id": "s1",
        "task_id": "t1",
        "trial": 0,
        "seed": 7,
        "termination_reason": "user_stop",
        "messages": MESSAGES,
    }
    return {
        **base,
        "reward_info": {"reward": 1.0, "db_check": {"db_match": False}, "reward_basis": ["DB"]},
        **fields,
    }


def load(tmp_path: Path, value: Any, **settings: Any) -> tuple[list[Imported], list[Rejection]]:
    path = tmp_path / "results.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    found = list(imported([path], settings=ImportSettings(**settings)))
    return [f for f in found if isinstance(f, Imported)], [
        f for f in found if isinstance(f, Rejection)
    ]


def document(*simulations: dict[str, Any]) -> dict[str, Any]:
    return {
        "timestamp": "2026-01-01",
        "info": INFO,
        "tasks": [TASK],
        "simulations": list(simulations),
    }


@pytest.mark.parametrize(
    ("reason", "reward", "outcome", "fault"),
    [
        ("user_stop", 1.0, "success", None),
        ("user_stop", 0.0, "failure", None),
        ("user_stop", None, "unknown", None),
        ("agent_stop", 1.0, "success", None),
        ("max_steps", 0.0, "truncated", None),
        ("max_steps", 1.0, "truncated", None),
        ("timeout", 0.0, "truncated", None),
        ("too_many_errors", 0.0, "truncated", None),
        ("context_window_exceeded", 0.0, "truncated", None),
        ("agent_error", 0.0, "invalid", Fault.MODEL),
        ("user_error", 0.0, "invalid", Fault.USER_SIMULATOR),
        ("infrastructure_error", 0.0, "invalid", Fault.INFRASTRUCTURE),
        ("unexpected_error", 1.0, "invalid", Fault.INFRASTRUCTURE),
        ("a_new_reason", 1.0, "unknown", None),
        (None, 1.0, "success", None),
        (None, None, "unknown", None),
    ],
)
def test_how_it_ended_decides_before_the_reward(
    tmp_path: Path, reason: str | None, reward: float | None, outcome: str, fault: Fault | None
) -> None:
    ((found,), bad) = load(
        tmp_path, document(simulation(termination_reason=reason, reward_info={"reward": reward}))
    )
    trajectory = found.trajectory
    assert (trajectory.outcome, trajectory.fault, bad) == (outcome, fault, [])
    assert trajectory.reward == (None if fault else reward)


@pytest.mark.parametrize(("threshold", "outcome"), [(1.0, "failure"), (0.65, "success")])
def test_a_composite_reward_is_compared_with_the_threshold(
    tmp_path: Path, threshold: float, outcome: str
) -> None:
    ((found,), _) = load(
        tmp_path, document(simulation(reward_info={"reward": 0.8})), reward_threshold=threshold
    )
    assert found.trajectory.outcome == outcome


def test_calls_of_the_user_are_never_the_agents(tmp_path: Path) -> None:
    ((found,), _) = load(tmp_path, document(simulation()))
    trajectory = found.trajectory
    assert [
        (call.name, json.loads(call.arguments))
        for turn in trajectory.turns
        for call in turn.tool_calls
    ] == [("get_line", {"line": "L1", "ä": 1.5})]
    assert [
        (o.content, o.source, o.call_id, o.error)
        for turn in trajectory.turns
        for o in turn.observations
    ] == [
        ("No signal.", "user", None, False),
        ("no such line", "tool", "c1", True),
        ("###STOP###", "user", None, False),
    ]
    (mark,) = [mark for mark in found.marks if mark.metric == "user_tool_call"]
    assert mark.turn == 2
    assert mark.detail == {
        "id": "u1",
        "name": "toggle",
        "arguments": {},
        "content": "wait",
        "result": "toggled",
        "error": False,
    }
    assert [call.name for call in found.task.gold or ()] == ["enable"]
    assert [action["name"] for action in found.task.script["user_actions"]] == ["toggle"]


def test_an_assistant_message_with_a_call_of_the_users_is_refused(tmp_path: Path) -> None:
    wrong = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "u", "name": "toggle", "arguments": {}, "requestor": "user"}],
    }
    good, (bad,) = load(tmp_path, document(simulation(messages=[*MESSAGES, wrong]), simulation()))
    assert (len(good), bad.locator, bad.reason) == (1, "line1/simulations/0", "bad_record")


def test_the_greeting_is_masked_and_model_prompt_usage_and_verdict_are_kept(tmp_path: Path) -> None:
    ((found,), _) = load(tmp_path, document(simulation()))
    trajectory = found.trajectory
    assert [turn.mask for turn in trajectory.turns] == [GREETING_MASK, None, None]
    assert (trajectory.model, trajectory.sampling, trajectory.seed, trajectory.system_prompt) == (
        "m-1",
        {"temperature": 0.5},
        7,
        "Be kind.",
    )
    assert (
        trajectory.totals.prompt_tokens,
        trajectory.totals.completion_tokens,
        trajectory.totals.calls,
    ) == (30, 7, 2)
    assert trajectory.totals.cost_usd == 0.75
    assert trajectory.turns[1].content is None
    assert trajectory.check_result is not None
    assert (
        trajectory.check_result.passed,
        [(p.name, p.passed) for p in trajectory.check_result.parts],
    ) == (True, [("db", False)])
    assert (found.task.env, found.task.benchmark, found.task.goal) == (
        "tau2/telecom",
        None,  # made up: a domain's name makes no task one of the public set
        "No signal.\nAsk.",
    )
    assert "synthesised_system_prompt" in {mark.metric for mark in found.marks}


def test_the_three_shapes_hold_the_same_attempts(tmp_path: Path) -> None:
    per_task = {
        "task_id": "t1",
        "task": TASK,
        "run_info": {"simulation_id": "s1", "termination_reason": "user_stop"},
        "reward_info": simulation()["reward_info"],
        "messages": MESSAGES,
    }
    ((whole,), _) = load(tmp_path, document(simulation()))
    ((bare,), _) = load(tmp_path, [simulation()])
    lines, _ = load(tmp_path, json.dumps(per_task) + "\n" + json.dumps(per_task) + "\n")
    assert whole.trajectory.turns == bare.trajectory.turns == lines[0].trajectory.turns
    assert {f.trajectory.outcome for f in (whole, bare, *lines)} == {Outcome.SUCCESS}
    assert [f.trajectory.trial for f in lines] == [0, 1]
    assert lines[0].task.goal == whole.task.goal
    assert (bare.task.env, bare.task.goal) == ("tau2/unknown", "No signal.")


def test_an_attempt_without_a_word_is_invalid_where_a_fault_ended_it_and_refused_where_nothing_did(
    tmp_path: Path,
) -> None:
    good, bad = load(
        tmp_path,
        document(
            simulation(messages=[], termination_reason="agent_error"), simulation(messages=[])
        ),
    )
    assert [(f.trajectory.outcome, f.trajectory.turns) for f in good] == [("invalid", ())]
    assert [(b.locator, b.reason) for b in bad] == [("line1/simulations/1", "no_turns")]


@pytest.mark.parametrize(
    "broken",
    [
        {"messages": "none"},
        {"messages": [3]},
        {"messages": [{"role": "assistant", "tool_calls": 3}]},
        {"messages": [{"role": "assistant", "tool_calls": [3]}]},
        {"messages": [{"role": "critic", "content": "x"}]},
        {"messages": [{"role": "tool", "id": "u9", "requestor": "user", "content": ""}]},
        {"reward_info": {"reward": "1.0"}},
        {"reward_info": {"reward": True}},
        {"reward_info": []},
        {"seed": 2**70},
        {"task_id": {}},
    ],
)
def test_a_simulation_of_another_shape_is_refused_alone(
    tmp_path: Path, broken: dict[str, Any]
) -> None:
    good, bad = load(tmp_path, document(simulation(**broken), simulation(trial=1)))
    if "task_id" in broken:
        assert (len(good), bad) == (2, [])
    else:
        assert (len(good), [(b.locator, b.reason) for b in bad]) == (
            1,
            [("line1/simulations/0", "bad_record")],
        )
