"""tau-bench results: real files against numbers counted in the raw JSON, and hand-written ones for
what they do not show.
"""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from synth.importers.records import Imported, ImportSettings, Rejection
from synth.schemas.outcome import Termination
from synth.schemas.trajectory import Observation, Source
from tests.synth.importers.imports import imported

DATA = Path(__file__).parents[4] / "shared" / "data"
FILES = [
    *sorted(DATA.glob("tau1/*.json.gz")),
    *sorted(DATA.glob("tau1_retail/*.json.gz")),
    DATA / "agentrx_tau" / "tau_retail.json.gz",
]
needs_real_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="real trajectories absent: ../shared/data"
)


def result(**fields: Any) -> dict[str, Any]:
    """One made-up attempt."""
    task = {
        "user_id": "mia_li_1",
        "instruction": "Cancel it.",
        "actions": [{"name": "cancel", "kwargs": {"id": "#1"}}],
        "outputs": ["7"],
    }
    messages = [
        {"role": "system", "content": "# Retail agent policy\n..."},
        {"role": "user", "content": "cancel #1"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "###STOP###"},
    ]
    return {
        "task_id": 3,
        "trial": 0,
        "reward": 1.0,
        "info": {"task": task},
        "traj": messages,
        **fields,
    }


def load(
    tmp_path: Path, results: Any, name: str = "results.json", threshold: float = 1.0
) -> tuple[list[Imported], list[Rejection]]:
    path = tmp_path / name
    path.write_text(json.dumps(results))
    found = list(imported([path], settings=ImportSettings(reward_threshold=threshold)))
    return [f for f in found if isinstance(f, Imported)], [
        f for f in found if isinstance(f, Rejection)
    ]


@pytest.mark.slow
@needs_real_data
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name[:20])
def test_real_files_come_in_whole(path: Path) -> None:
    raw = json.loads(gzip.decompress(path.read_bytes()))
    found = list(imported([path]))
    assert [f for f in found if isinstance(f, Rejection)] == []
    trajectories = [f.trajectory for f in found if isinstance(f, Imported)]
    assert len(trajectories) == len(raw)
    outcomes = {1.0: "success", 0.0: "failure", None: "unknown"}
    for record, trajectory in zip(raw, trajectories, strict=True):
        roles = Counter(m["role"] for m in record["traj"])
        calls = [call for m in record["traj"] for call in m.get("tool_calls") or []]
        seen = [*trajectory.opening, *(o for t in trajectory.turns for o in t.observations)]
        heard = Counter(o.source for o in seen)
        assert trajectory.outcome == outcomes[record["reward"]]
        assert trajectory.reward == record["reward"]
        assert len(trajectory.turns) == roles["assistant"]
        assert (heard[Source.USER], heard[Source.TOOL], heard[Source.ENVIRONMENT]) == (
            roles["user"],
            roles["tool"],
            0,
        )
        assert [c.arguments for t in trajectory.turns for c in t.tool_calls] == [
            c["function"]["arguments"] for c in calls
        ]
        assert [c.call_id for t in trajectory.turns for c in t.tool_calls] == [
            c["id"] for c in calls
        ]
        assert [t.content for t in trajectory.turns] == [
            m["content"] for m in record["traj"] if m["role"] == "assistant"
        ]
        assert [o.content for o in seen] == [
            m["content"] for m in record["traj"] if m["role"] in ("user", "tool")
        ]
        assert trajectory.system_prompt == record["traj"][0]["content"]
        assert all(t.mask is None for t in trajectory.turns)
        assert str(trajectory.benchmark).startswith("tau-bench/")


@pytest.mark.slow
@needs_real_data
def test_the_folders_add_up_to_what_their_description_says() -> None:
    found = [
        f for folder in ("tau1", "tau1_retail", "agentrx_tau") for f in imported([DATA / folder])
    ]
    good = [f for f in found if isinstance(f, Imported)]
    assert Counter(
        (f.trajectory.env, f.trajectory.model, f.trajectory.outcome.value) for f in good
    ) == {
        ("tau_bench/airline", "gpt-4o", "success"): 34,
        ("tau_bench/airline", "gpt-4o", "failure"): 62,
        ("tau_bench/retail", None, "success"): 36 + 35,
        ("tau_bench/retail", None, "failure"): 8 + 9,
        ("tau_bench/retail", "gpt-4.1-mini", "success"): 33,
        ("tau_bench/retail", "gpt-4.1-mini", "failure"): 19,
    }
    assert [f for f in found if isinstance(f, Rejection)] == []
    attempts = Counter(f.task.task_id for f in good)
    assert Counter(attempts.values()) == {4: 24, 3: 44, 1: 8}
    assert all(
        sorted(trials) == [0, 1, 2, 3] for trials in _trials(good, "tau_bench/airline").values()
    )


def _trials(good: list[Imported], env: str) -> dict[str, list[int]]:
    trials: dict[str, list[int]] = {}
    for found in good:
        if found.task.env == env:
            trials.setdefault(found.task.task_id, []).append(found.trajectory.trial)
    return trials


def test_a_record_becomes_a_task_with_gold_actions_and_an_attempt(tmp_path: Path) -> None:
    ((found,), _) = load(tmp_path, [result()])
    task, trajectory = found.task, found.trajectory
    assert (task.env, task.goal, task.origin, task.benchmark) == (
        "tau_bench/retail",
        "Cancel it.",
        "import",
        None,
    )
    assert task.gold is not None
    assert [(c.name, c.arguments) for c in task.gold] == [("cancel", '{"id": "#1"}')]
    assert (trajectory.task_id, trajectory.termination, trajectory.synthesizer) == (
        task.task_id,
        Termination.UNREPORTED,
        "import",
    )
    assert (trajectory.tools, trajectory.weights_id, trajectory.policy) == ((), None, "imported")
    format_name, sha, locator, name = str(trajectory.source).split(":")
    assert (format_name, len(sha), locator, name) == ("tau_bench", 32, "0", "results.json")


def test_control_signals_of_the_user_stay_as_evidence(tmp_path: Path) -> None:
    ((found,), _) = load(tmp_path, [result()])
    assert found.trajectory.turns[-1].observations == (Observation("###STOP###", Source.USER),)


@pytest.mark.parametrize(
    ("reward", "threshold", "outcome"),
    [
        (1.0, 1.0, "success"),
        (0.9999999, 1.0, "success"),
        (0.8, 1.0, "failure"),
        (0.8, 0.65, "success"),
        (0, 1.0, "failure"),
        (None, 1.0, "unknown"),
    ],
)
def test_a_reward_is_compared_with_the_threshold_and_a_missing_one_is_never_zero(
    tmp_path: Path, reward: float | None, threshold: float, outcome: str
) -> None:
    ((found,), _) = load(tmp_path, [result(reward=reward)], threshold=threshold)
    assert (found.trajectory.outcome, found.trajectory.reward) == (outcome, reward)


def test_a_trial_that_equals_the_task_number_is_no_trial(tmp_path: Path) -> None:
    other = {"user_id": "u", "instruction": "Other.", "actions": []}
    records = [
        result(task_id=5, trial=5),
        result(task_id=6, trial=6, info={"task": other}),
        result(task_id=5, trial=5),
    ]
    good, _ = load(tmp_path, records)
    assert [g.trajectory.trial for g in good] == [0, 0, 1]
    good, _ = load(tmp_path, records[:2])
    assert [g.trajectory.trial for g in good] == [0, 0]


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ([2, 0, 1], [2, 0, 1]),
        ([0, 0, 1], [0, 1, 2]),
        ([None, 1, 2], [0, 1, 2]),
        ([0, -1, 2], [0, 1, 2]),
    ],
)
def test_stated_trials_are_kept_where_they_tell_attempts_apart(
    tmp_path: Path, stated: list[Any], expected: list[int]
) -> None:
    good, _ = load(tmp_path, [result(trial=trial) for trial in stated])
    assert [g.trajectory.trial for g in good] == expected


def test_one_task_number_with_two_instructions_is_two_tasks(tmp_path: Path) -> None:
    other = {"user_id": "mia_li_1", "instruction": "Cancel it now.", "actions": []}
    good, _ = load(tmp_path, [result(), result(info={"task": other}, trial=1)])
    assert len({g.task.task_id for g in good}) == 2


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"traj": []}, "no_turns"),
        ({"traj": None}, "no_turns"),
        ({"traj": [{"role": "user", "content": "hi"}]}, "no_turns"),
        ({"reward": "1.0"}, "bad_record"),
        ({"info": {"task": {}}}, "bad_record"),
        ({"traj": [{"role": "critic", "content": "hi"}]}, "bad_record"),
    ],
)
def test_an_attempt_without_a_result_is_refused_and_the_others_come_in(
    tmp_path: Path, broken: dict[str, Any], reason: str
) -> None:
    good, bad = load(tmp_path, [result(), result(**broken), result(trial=1)])
    assert (len(good), [(b.locator, b.reason) for b in bad]) == (2, [("1", reason)])


@pytest.mark.parametrize(
    ("name", "model", "sampling"),
    [
        ("gpt-4o-airline.json", "gpt-4o", {}),
        (
            "tool-calling-gpt-4.1-mini-0.0_range_0--1_user-gpt-4.1-llm_0920.json",
            "gpt-4.1-mini",
            {"temperature": 0.0},
        ),
        (
            "x_tool-calling-with-preconditions-none-0.1_range_0-100_user-none-llm_0626.json",
            None,
            {},
        ),
        ("tau_retail.json", None, {}),
        ("results.json", None, {}),
    ],
)
def test_the_model_is_what_the_file_name_claims_or_unknown(
    tmp_path: Path, name: str, model: str | None, sampling: dict[str, Any]
) -> None:
    ((found,), _) = load(tmp_path, [result()], name=name)
    assert (found.trajectory.model, found.trajectory.sampling) == (model, sampling)


def test_a_policy_that_names_no_domain_is_of_no_known_one(tmp_path: Path) -> None:
    ((found,), _) = load(tmp_path, [result(traj=result()["traj"][1:])])
    assert (found.task.env, found.task.benchmark) == ("tau_bench/unknown", None)
