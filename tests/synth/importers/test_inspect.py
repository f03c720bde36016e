"""Inspect logs: real ones against the raw JSON, and hand-written samples for what they do not
show.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from synth.importers.records import Imported, Rejection
from synth.schemas.outcome import Fault, Termination
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import Usage
from tests.synth.importers.imports import DATA, imported, needs_real_data, read, read_document
from tests.synth.importers.inspect_samples import ANSWER, TOOL, log, sample

FOLDER = DATA / "inspect"


FILES = sorted(FOLDER.glob("*.json.gz"))


@needs_real_data
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name[26:40])
def test_real_logs_come_in_as_their_raw_samples_say(path: Path) -> None:
    raw = json.loads(gzip.decompress(path.read_bytes()))
    good, bad = read(path)
    assert (bad, len(good)) == ([], len(raw["samples"]))
    for one, found in zip(raw["samples"], good, strict=True):
        (score,) = one["scores"].values()
        answers = [m for m in one["messages"] if m["role"] == "assistant"]
        heard = [m["content"] for m in one["messages"] if m["role"] not in ("assistant", "system")]
        trajectory = found.trajectory
        assert trajectory.outcome.value == {"C": "success", "I": "failure"}[score["value"]]
        assert [t.content for t in trajectory.turns] == [m["content"] or None for m in answers]
        assert [c.parsed() for t in trajectory.turns for c in t.tool_calls] == [
            c["arguments"] for m in answers for c in m.get("tool_calls") or []
        ]
        assert [
            o.content
            for o in [*trajectory.opening, *(o for t in trajectory.turns for o in t.observations)]
        ] == heard
        assert "attachment://" not in json.dumps(trajectory.tools) + json.dumps(
            to_messages(trajectory)
        )
        usage = one["model_usage"]["openai/gpt-4o-mini"]
        graded = "model_graded_fact" in one["scores"]  # the grader's tokens are not the agent's
        assert (trajectory.totals.prompt_tokens == usage["input_tokens"]) is not graded
        assert (trajectory.model, trajectory.trial) == ("openai/gpt-4o-mini", 0)


@needs_real_data
def test_the_folder_adds_up_and_the_cancelled_log_gives_its_three_samples() -> None:
    found = list(imported([FOLDER]))
    assert [f for f in found if isinstance(f, Rejection)] == []
    good = [f.trajectory for f in found if isinstance(f, Imported)]
    assert [
        (
            t.benchmark,
            t.outcome.value,
            len(t.turns),
            sum(len(u.tool_calls) for u in t.turns),
            len(t.tools),
        )
        for t in good
    ] == [
        (None, "success", 5, 4, 8),
        ("popularity/unknown", "success", 1, 0, 0),
        ("popularity/unknown", "success", 1, 0, 0),
        ("popularity/unknown", "failure", 1, 0, 0),
        *[("security_guide/unknown", "success", 1, 0, 0)] * 3,
    ]


def test_a_sample_keeps_its_calls_thoughts_tools_and_target(tmp_path: Path) -> None:
    (found,), bad = read_document(tmp_path, log(sample(epoch=3)))
    trajectory = found.trajectory
    assert (bad, trajectory.trial, trajectory.termination, trajectory.sampling) == (
        [],
        2,
        Termination.DONE,
        {"temperature": 0.5},
    )
    first, second = trajectory.turns
    assert (first.content, first.thought, first.tool_calls[0].arguments) == (
        "Adding.",
        "Add.",
        '{"x": 2}',
    )
    assert "c2ln" in str(first.raw)
    assert [(o.content, o.error, o.name) for o in first.observations] == [("slow", True, "add")]
    assert second.usage == Usage(10, 2, 4, 1)
    assert trajectory.tools == ({"type": "function", "function": {**TOOL, "description": "Adds."}},)
    assert (found.task.goal, found.task.script, found.task.benchmark, found.task.env) == (
        "2+2?",
        {"target": "4"},
        "sums/dev",
        "inspect/sums",
    )
    assert str(trajectory.source).split(":")[2] == "line1/samples/0"


@pytest.mark.parametrize(
    ("scores", "threshold", "outcome", "reward"),
    [
        ({"a": "C"}, 1.0, "success", 1.0),
        ({"a": "I"}, 1.0, "failure", 0.0),
        ({"a": "N"}, 1.0, "failure", 0.0),
        ({"a": "P"}, 1.0, "failure", 0.5),
        ({"a": "P"}, 0.5, "success", 0.5),
        ({"a": 0.7}, 0.65, "success", 0.7),
        ({"a": True}, 1.0, "success", 1.0),
        ({"a": "1"}, 1.0, "success", 1.0),
        ({"a": "no"}, 1.0, "failure", 0.0),
        ({"a": None}, 1.0, "unknown", None),
        ({"a": "nan"}, 1.0, "unknown", None),
        ({"a": "some words"}, 1.0, "unknown", None),
        ({"a": {"x": 1}}, 1.0, "unknown", None),
        ({"a": "C", "b": 1}, 1.0, "success", 1.0),
        ({"a": "C", "b": "I"}, 1.0, "unknown", None),
        ({}, 1.0, "unknown", None),
    ],
)
def test_scores_become_an_outcome_only_where_they_agree(
    tmp_path: Path, scores: dict[str, Any], threshold: float, outcome: str, reward: float | None
) -> None:
    value = log(
        sample(scores={name: {"value": score} for name, score in scores.items()}),
        status="cancelled",
    )
    (found,), _ = read_document(tmp_path, value, threshold)
    assert (found.trajectory.outcome.value, found.trajectory.reward) == (outcome, reward)
    assert {m.metric: (m.detail or {})["value"] for m in found.marks} == {
        f"inspect/{name}": score for name, score in scores.items()
    }


@pytest.mark.parametrize(
    ("fields", "termination", "fault", "outcome"),
    [
        ({"limit": {"type": "message", "limit": 4}}, Termination.TURN_LIMIT, None, "truncated"),
        ({"limit": {"type": "token", "limit": 4}}, Termination.TOKEN_LIMIT, None, "truncated"),
        ({"limit": {"type": "context", "limit": 4}}, Termination.CONTEXT_LIMIT, None, "truncated"),
        ({"limit": {"type": "working", "limit": 4}}, Termination.TIME_LIMIT, None, "truncated"),
        (
            {"limit": {"type": "operator", "limit": 1}},
            Termination.FAULT,
            Fault.INFRASTRUCTURE,
            "invalid",
        ),
        (
            {"error": {"message": "sandbox died", "traceback": ""}},
            Termination.FAULT,
            Fault.INFRASTRUCTURE,
            "invalid",
        ),
        (
            {"invalidation": {"reason": "wrong image"}},
            Termination.FAULT,
            Fault.INFRASTRUCTURE,
            "invalid",
        ),
    ],
)
def test_limits_are_truncations_and_errors_are_invalid_whatever_the_score(
    tmp_path: Path,
    fields: dict[str, Any],
    termination: Termination,
    fault: Fault | None,
    outcome: str,
) -> None:
    (found,), _ = read_document(tmp_path, log(sample(**fields)))
    trajectory = found.trajectory
    assert (trajectory.termination, trajectory.fault, trajectory.outcome.value) == (
        termination,
        fault,
        outcome,
    )
    assert (trajectory.reward is None) is (fault is not None)


def test_attachments_are_put_back_and_a_missing_one_is_a_rejection(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "attachment://a1"},
        {"role": "assistant", "content": "tc://a2"},
    ]
    whole = sample(
        messages=messages, events=[], attachments={"a1": "long question", "a2": "long answer"}
    )
    (found,), bad = read_document(
        tmp_path, log(whole, {**whole, "attachments": {"a1": "long question"}})
    )
    assert to_messages(found.trajectory) == [
        {"role": "user", "content": "long question"},
        {"role": "assistant", "content": "long answer"},
    ]
    assert [(r.locator, r.reason, r.detail) for r in bad] == [
        ("line1/samples/1", "bad_record", "attachment 'a2' is not in the log")
    ]


def test_a_sample_without_messages_is_read_from_its_last_model_call(tmp_path: Path) -> None:
    pool = {
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "2+2?"}],
        "calls": [],
    }
    calls = [
        {
            "event": "model",
            "input": [],
            "input_refs": [[0, 2]],
            "output": {"choices": [{"message": ANSWER}]},
        },
        {
            "event": "model",
            "role": "grader",
            "input": [{"role": "user", "content": "Is it right?"}],
            "output": {"choices": [{"message": ANSWER}]},
        },
    ]
    (found,), _ = read_document(
        tmp_path, log(sample(messages=[], events=calls, events_data=pool, scores=None))
    )
    assert [m["content"] for m in to_messages(found.trajectory)] == ["S", "2+2?", "4"]
    assert [(m.metric, m.value) for m in found.marks] == [("messages_from_events", 3.0)]
