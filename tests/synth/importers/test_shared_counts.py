"""Counts of real trajectories are those of their raw files; their agents and copies meet."""

import re
from collections import Counter

import pytest

from tests.synth.importers.shared_data import DATA, load, raw, sums

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="real trajectories absent: ../shared/data"),
]

TAU2 = ("tau2_airline", "tau2_retail", "tau2_grok", "tau2_es", "tau2_telecom", "tau2_retail_multi")


@pytest.mark.slow
@pytest.mark.parametrize("folder", TAU2)
def test_tau2_counts_are_those_of_the_raw_files(folder: str) -> None:
    records = [
        r
        for path in sorted((DATA / folder).iterdir())
        for r in (raw(path) if ".jsonl" in path.name else raw(path)["simulations"])
    ]
    messages = [m for r in records for m in r["messages"]]
    found = load(folder)
    agent = [m for m in messages if m["role"] == "assistant"]
    by_user = [c for m in messages if m["role"] == "user" for c in m.get("tool_calls") or []]
    assert sums(found) == (
        len(records),
        len(agent),
        sum(len(m.get("tool_calls") or []) for m in agent),
    )
    assert len([mark for f in found for mark in f.marks if mark.metric == "user_tool_call"]) == len(
        by_user
    )
    broken = [r for r in records if (r.get("run_info") or r)["termination_reason"] == "agent_error"]
    good = [r for r in records if r not in broken]
    assert (
        Counter(f.trajectory.outcome.value for f in found)
        == Counter(
            {
                "success": sum(r["reward_info"]["reward"] == 1 for r in good),
                "failure": sum(r["reward_info"]["reward"] == 0 for r in good),
            }
            | ({"invalid": len(broken)} if broken else {})
        )
        + Counter()
    )
    observed = [
        o for f in found for t in f.trajectory.turns for o in t.observations if o.source == "tool"
    ]
    assert len(observed) == sum(
        m["role"] == "tool" and m["requestor"] == "assistant" for m in messages
    )
    assert {o.content for o in observed} <= {m["content"] for m in messages if m["role"] == "tool"}


@pytest.mark.slow
def test_tau2_agents_of_different_files_meet_at_the_same_tasks() -> None:
    found = load("tau2_retail", "tau2_retail_multi")
    assert len({f.task.task_id for f in found}) == 52
    airline = load("tau2_airline")
    assert len({f.task.task_id for f in airline}) == 24
    assert all(t.mask == "canned_greeting" for f in airline for t in f.trajectory.turns[:1])


def test_exact_copies_under_two_names_are_two_rows_with_one_content_hash() -> None:
    found = load("tau2_es")
    copies = Counter(f.trajectory.content_hash for f in found)
    assert len({f.trajectory.trajectory_id for f in found}) == 101
    assert Counter(copies.values()) == {1: 61, 2: 20}


def test_fireact_counts_are_those_of_the_raw_files() -> None:
    values = [
        value for path in sorted((DATA / "fireact").iterdir()) for value in raw(path).values()
    ]
    found = load("fireact")
    texts = [
        v["traj"] if isinstance(v["traj"], str) else "\n".join(m["content"] for m in v["traj"])
        for v in values
    ]
    answers = sum(len(re.findall(r"^Observation:", text, re.MULTILINE)) for text in texts)
    assert sums(found) == (462 + 496 + 497, answers, answers)
    assert Counter(f.trajectory.outcome.value for f in found) == {
        "success": 197 + 169 + 130,
        "failure": 265 + 327 + 367,
    }
    assert [m.value for f in found for m in f.marks if m.metric == "f1"] == [
        v["f1"] for v in values
    ]
    finished = [f for f in found if f.trajectory.turns[-1].tool_calls[0].name == "finish"]
    assert len(finished) == len(found)
    assert sum(count == 3 for count in Counter(f.task.task_id for f in found).values()) == 461
