"""SWE-agent trajectories: real files against the raw JSON, and hand-written ones for what they do
not show.
"""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from synth.importers.records import Imported, Rejection
from synth.schemas.outcome import Fault, Termination
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import Observation, Source
from tests.synth.importers.imports import DATA, imported, needs_real_data, read, read_document

FOLDER = DATA / "sweagent_demos"
FILES = sorted(FOLDER.glob("*.traj.gz"))
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "bash", "arguments": '{"command": "ls"}'},
}


def run(**fields: Any) -> dict[str, Any]:
    """A made-up run in text format: one command, one submission."""
    history = [
        {"role": "system", "content": "Fix it.", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": "Look how it is done", "agent": "main", "is_demo": True},
        {"role": "user", "content": "The button is broken.", "agent": "main"},
        {
            "role": "assistant",
            "content": "Look.\n```\nls\n```",
            "thought": "Look.\n",
            "action": "ls\n",
            "agent": "main",
        },
        {"role": "user", "content": "a.py\n(Current directory: /shop)", "agent": "main"},
        {
            "role": "assistant",
            "content": "Done.\n```\nsubmit\n```",
            "thought": "Done.\n",
            "action": "submit\n",
            "agent": "main",
        },
    ]
    steps = [
        {
            "action": "ls\n",
            "observation": "a.py",
            "response": "",
            "thought": "Look.\n",
            "state": "{}",
            "execution_time": 0.25,
        },
        {
            "action": "oops",
            "observation": "no such command",
            "response": "",
            "thought": "",
            "state": "{}",
        },
        {
            "action": "submit\n",
            "observation": "diff --git a/a.py",
            "response": "",
            "thought": "Done.\n",
            "state": "{}",
        },
    ]
    stats = {"instance_cost": 0.5, "tokens_sent": 100, "tokens_received": 20, "api_calls": 3}
    info = {"exit_status": "submitted", "submission": "diff", "model_stats": stats}
    return {"environment": "main", "trajectory": steps, "history": history, "info": info, **fields}


@needs_real_data
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name[-50:-8])
def test_real_files_come_in_as_their_raw_history_says(path: Path) -> None:
    raw = json.loads(gzip.decompress(path.read_bytes()))
    (found,), bad = read(path)
    assert bad == []
    trajectory = found.trajectory
    said = [m for m in raw["history"] if not m.get("is_demo")]
    answers = [m for m in said if m["role"] == "assistant"]
    written = [m["action"] for m in answers if m.get("action") and not m.get("tool_calls")]
    in_text = [t for t in trajectory.turns if t.tool_calls and t.raw is not None]
    assert [t.tool_calls[0].parsed()["command"] for t in in_text] == written
    assert [t.content if t.raw is None else t.raw for t in trajectory.turns] == [
        m["content"] for m in answers
    ]
    assert [c.call_id for t in trajectory.turns if t.raw is None for c in t.tool_calls] == [
        c["id"] for m in answers for c in m.get("tool_calls") or []
    ]
    assert trajectory.system_prompt == said[0]["content"]
    assert [o.content for o in trajectory.opening] == [said[1]["content"]]
    answered = [o.content for t in trajectory.turns for o in t.observations]
    assert answered[: len(said) - 2 - len(answers)] == [
        m["content"] for m in said[2:] if m["role"] != "assistant"
    ]
    assert (trajectory.outcome.value, trajectory.reward, trajectory.content_hash is not None) == (
        "unknown",
        None,
        True,
    )


@needs_real_data
def test_the_folder_adds_up() -> None:
    """Counted with a script of its own: in 22 files 230 assistant messages that are no
    demonstration, with 44 calls in five files; the others act in their text, each in one command.
    """
    found = list(imported([FOLDER]))
    assert [f for f in found if isinstance(f, Rejection)] == []
    good = [f.trajectory for f in found if isinstance(f, Imported)]
    assert (
        len(good),
        sum(len(t.turns) for t in good),
        sum(len(u.tool_calls) for t in good for u in t.turns),
    ) == (22, 230, 230)
    assert {t.outcome.value for t in good} == {"unknown"}
    assert Counter(t.termination.value for t in good) == {"agent_stop": 21, "unreported": 1}
    assert Counter(t.benchmark for t in good) == {
        "swe-bench/dev": 9,
        "nyu-ctf/dev": 9,
        "humanevalfix/python": 1,
        None: 3,
    }
    assert all(str(t.source).startswith("swe_agent:") for t in good)


def test_demonstrations_are_left_out_and_the_shell_is_not_the_user(tmp_path: Path) -> None:
    (found,), _ = read_document(tmp_path, run())
    trajectory = found.trajectory
    assert (trajectory.system_prompt, found.task.goal) == ("Fix it.", "The button is broken.")
    assert trajectory.opening == (Observation("The button is broken.", Source.USER),)
    assert [t.content for t in trajectory.turns] == ["Look.", "Done."]
    assert [t.raw for t in trajectory.turns] == [
        "Look.\n```\nls\n```",
        "Done.\n```\nsubmit\n```",
    ]
    assert trajectory.turns[0].observations == (
        Observation("a.py\n(Current directory: /shop)", Source.TOOL, "call_0_0"),
    )
    assert {mark.metric: mark.value for mark in found.marks if mark.turn is None} == {
        "demonstrations_left_out": 1.0,
        "steps_outside_history": 1.0,
    }


def test_the_answer_to_the_last_action_and_times_come_from_the_steps(tmp_path: Path) -> None:
    (found,), _ = read_document(tmp_path, run())
    assert found.trajectory.turns[1].observations == (
        Observation("diff --git a/a.py", Source.TOOL, "call_1_0"),
    )
    assert [(m.metric, m.value, m.turn) for m in found.marks if m.turn is not None] == [
        ("execution_time_s", 0.25, 0)
    ]
    totals = found.trajectory.totals
    assert (totals.prompt_tokens, totals.completion_tokens, totals.calls, totals.cost_usd) == (
        100,
        20,
        3,
        0.5,
    )


def test_function_calls_keep_their_ids_and_thinking_blocks_their_signatures(tmp_path: Path) -> None:
    block = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    answer = {
        "role": "assistant",
        "content": "Look.",
        "agent": "main",
        "tool_calls": [CALL],
        "thinking_blocks": [block],
    }
    history = [
        {"role": "user", "content": [{"type": "text", "text": "Fix."}], "agent": "main"},
        answer,
        {"role": "tool", "content": "a.py", "tool_call_ids": ["c1"], "agent": "main"},
    ]
    (found,), _ = read_document(tmp_path, {"history": history})
    assert to_messages(found.trajectory)[1:] == [
        {"role": "assistant", "content": "Look.", "reasoning_content": "Hm.", "tool_calls": [CALL]},
        {"role": "tool", "content": "a.py", "tool_call_id": "c1"},
    ]
    assert json.loads(str(found.trajectory.turns[0].raw)) == {"thinking_blocks": [block]}


@pytest.mark.parametrize(
    ("status", "termination", "fault", "outcome"),
    [
        ("submitted", Termination.AGENT_STOP, None, "unknown"),
        ("submitted (exit_cost)", Termination.TOKEN_LIMIT, None, "truncated"),
        ("exit_context", Termination.CONTEXT_LIMIT, None, "truncated"),
        ("exit_format", Termination.STUCK, None, "truncated"),
        ("exit_total_execution_time", Termination.TIME_LIMIT, None, "truncated"),
        ("exit_environment_error", Termination.FAULT, Fault.ENVIRONMENT, "invalid"),
        ("submitted (exit_api)", Termination.FAULT, Fault.MODEL, "invalid"),
        ("exit_error", Termination.FAULT, Fault.INFRASTRUCTURE, "invalid"),
        ("something new", Termination.UNREPORTED, None, "unknown"),
        (None, Termination.UNREPORTED, None, "unknown"),
    ],
)
def test_how_a_run_ended_decides_the_outcome(
    tmp_path: Path, status: str | None, termination: Any, fault: Any, outcome: str
) -> None:
    (found,), _ = read_document(tmp_path, run(info={"exit_status": status}))
    trajectory = found.trajectory
    assert (trajectory.termination, trajectory.fault, trajectory.outcome.value) == (
        termination,
        fault,
        outcome,
    )


def test_the_attempts_of_a_retry_run_are_trials_of_one_task(tmp_path: Path) -> None:
    config = json.dumps(
        {
            "agent": {"model": {"name": "m-1", "temperature": 0.5}},
            "problem_statement": {"text": "Fix.", "id": "own"},
        }
    )
    good, _ = read_document(
        tmp_path,
        {"attempts": [run(), run(info={"exit_status": "exit_cost"})], **run(replay_config=config)},
    )
    assert [(f.trajectory.trial, f.trajectory.outcome.value) for f in good] == [
        (0, "unknown"),
        (1, "truncated"),
    ]
    assert {
        (f.task.task_id, f.task.goal, f.trajectory.model, f.trajectory.sampling["temperature"])
        for f in good
    } == {(good[0].task.task_id, "Fix.", "m-1", 0.5)}


@pytest.mark.parametrize(
    ("shown", "instance", "benchmark"),
    [
        ("(Current directory: /django__django)", None, "swe-bench/test"),
        ("(Current directory: /pydicom__pydicom/pydicom)", None, "swe-bench/dev"),
        ("(Current directory: /django__django-extensions)", None, None),
        ("(Current directory: /testbed)", None, "swe-bench/unknown"),
        ("ls", "sympy__sympy-20590", "swe-bench/test"),
        ("ls", "mine__shop-12", None),
        ("ls", "shop", None),
    ],
)
def test_runs_on_public_benchmarks_are_stamped(
    tmp_path: Path, shown: str, instance: str | None, benchmark: str | None
) -> None:
    value = run(instance_id=instance)
    value["history"][4]["content"] = shown
    (found,), _ = read_document(tmp_path, value)
    assert (found.task.benchmark, found.trajectory.benchmark) == (benchmark, benchmark)


def test_a_run_in_which_the_agent_said_nothing_is_a_rejection(tmp_path: Path) -> None:
    good, bad = read_document(tmp_path, run(history=run()["history"][:3]))
    assert (good, [(r.locator, r.reason) for r in bad]) == ([], [("line1", "no_turns")])
