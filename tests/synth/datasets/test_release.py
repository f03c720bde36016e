"""One rule says what may leave: its reasons, their order, and that no other code reads what it
reads.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synth.datasets.release import (
    CAUSES,
    CHATS,
    COMPILED_TRACES,
    LABELLED_TURNS,
    REASONS,
    TASKS,
    KindRule,
    Lineage,
    may_leave,
)
from synth.schemas.evidence.release import Release
from synth.schemas.filtering import UNVERIFIED, Verdict
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.task import Task
from synth.schemas.trajectory import Authorship
from tests.trajectories import make_trajectory

FAULT = {
    "outcome": Outcome.INVALID,
    "termination": Termination.FAULT,
    "reward": None,
    "check_result": None,
}
FAILURE = {"outcome": Outcome.FAILURE, "reward": 0.0}
OF_FILTERS = {
    "held_out": "split",
    "secrets": "secrets",
    "leak": "leaks",
    "contamination": "contamination",
    "duplicate": "duplicates",
    "provenance": "provenance",
    "filter": "pdi",
}


def dropped(*names: str) -> dict[str, Verdict]:
    return {name: Verdict(False, "found") for name in names}


@pytest.mark.parametrize(
    ("fields", "reason", "setting", "lifted"),
    [
        ({**FAULT, "fault": Fault.MODEL}, "fault", None, {}),
        ({**FAULT, "fault": Fault.DRIFT}, "drift", None, {}),
        ({"benchmark": "b"}, "benchmark", "allow_benchmark", {"allow_benchmark": True}),
        ({"split": "test"}, "held_out", "allow_held_out", {"allow_held_out": True}),
        (FAILURE, "outcome", "outcomes", {"outcomes": ("failure",)}),
        (
            {"authorship": Authorship.SCRIPTED},
            "scripted",
            "include_scripted",
            {"include_scripted": True},
        ),
        (
            {"synthesizer": "critical_step"},
            "evidence_only",
            "include_evidence",
            {"include_evidence": True},
        ),
    ],
)
def test_a_trajectory_stays_for_a_reason_and_leaves_under_the_setting_that_the_reason_names(
    fields: dict[str, Any], reason: str, setting: str | None, lifted: dict[str, Any]
) -> None:
    lineage = Lineage(make_trajectory(**fields))
    found = may_leave(lineage, {}, CHATS, Release())
    assert found is not None
    assert (found.reason, found.setting) == (reason, setting)
    assert set(lifted) == ({setting} if setting else set())
    again = may_leave(lineage, {}, CHATS, Release(**lifted))
    assert (again is None) is bool(lifted)


@pytest.mark.parametrize(("reason", "name"), OF_FILTERS.items())
def test_what_a_filter_dropped_stays_unless_the_filter_is_not_honoured(
    reason: str, name: str
) -> None:
    lineage = Lineage(make_trajectory())
    found = may_leave(lineage, dropped(name), CHATS, Release())
    assert found is not None
    assert (found.reason, found.setting, found.counted) == (reason, "honour", f"{name}:found")
    assert may_leave(lineage, dropped(name), CHATS, Release(honour=())) is None
    undefined = {name: Verdict(None, "undefined")}
    assert may_leave(lineage, undefined, CHATS, Release()) is None


def test_a_label_that_no_test_confirmed_stays_unless_asked_for() -> None:
    lineage = Lineage(make_trajectory(**FAILURE), weak=True)
    found = may_leave(lineage, {}, CAUSES, Release())
    assert found is not None
    assert (found.reason, found.setting) == ("weak_label", "include_weak")
    assert may_leave(lineage, {}, CAUSES, Release(include_weak=True)) is None


@pytest.mark.parametrize("kind", [CHATS, LABELLED_TURNS])
def test_a_guided_row_that_no_judge_cleared_stays_unless_asked_for(kind: KindRule) -> None:
    lineage = Lineage(make_trajectory())
    open_question = {"leak": Verdict(None, UNVERIFIED)}
    found = may_leave(lineage, open_question, kind, Release())
    assert found is not None
    assert (found.reason, found.setting) == ("unverified", "include_unverified")
    assert may_leave(lineage, open_question, kind, Release(include_unverified=True)) is None
    assert may_leave(lineage, open_question, kind, Release(honour=())) is None


def test_a_judge_of_the_filter_settles_what_the_stage_left_open() -> None:
    lineage = Lineage(make_trajectory())
    settled = {"leak": Verdict(None, UNVERIFIED), "leaks": Verdict(True, "cleared")}
    assert may_leave(lineage, settled, CHATS, Release()) is None
    again = {"leak": Verdict(True, "clean"), "leaks": Verdict(None, UNVERIFIED)}
    assert may_leave(lineage, again, CHATS, Release()) is not None


def test_of_several_reasons_the_first_counts_down_to_the_last() -> None:
    everything = make_trajectory(
        **{**FAULT, "fault": Fault.MODEL},
        benchmark="b",
        split="test",
        authorship=Authorship.SCRIPTED,
        synthesizer="critical_step",
    )
    lineage = Lineage(everything, weak=True)
    decisions = dropped("pdi", *(name for why, name in OF_FILTERS.items() if why != "held_out"))
    decisions["leak"] = Verdict(None, UNVERIFIED)
    found = may_leave(lineage, decisions, CHATS, Release())
    assert found is not None
    assert found.reason == "fault"
    told, settings = [], Release()
    lineage = Lineage(
        make_trajectory(
            **FAILURE,
            benchmark="b",
            split="test",
            authorship=Authorship.SCRIPTED,
            synthesizer="critical_step",
        ),
        weak=True,
    )
    while (found := may_leave(lineage, decisions, CHATS, settings)) is not None:
        told.append(found.reason)
        if found.by_filter:
            del decisions[found.counted.partition(":")[0]]
            continue
        value: object = ("failure",) if found.setting == "outcomes" else True
        settings = Release.model_validate(settings.model_dump() | {found.setting: value})
    assert told == [reason for reason in REASONS if reason not in ("fault", "drift")]


@pytest.mark.parametrize(
    ("kind", "bound"),
    [
        (CHATS, set(OF_FILTERS)),
        (COMPILED_TRACES, set(OF_FILTERS)),
        (TASKS, set(OF_FILTERS)),
        (LABELLED_TURNS, set(OF_FILTERS) - {"provenance", "filter"}),
        (CAUSES, set(OF_FILTERS) - {"provenance", "filter"}),
    ],
)
def test_kinds_that_need_no_success_are_bound_by_filters_on_text_alone(
    kind: KindRule, bound: set[str]
) -> None:
    of = make_trajectory(**FAILURE) if kind is CAUSES else make_trajectory()
    found = {
        reason
        for reason, name in OF_FILTERS.items()
        if may_leave(Lineage(of), dropped(name), kind, Release()) is not None
    }
    assert found == bound
    assert may_leave(Lineage(of), dropped("pdi"), kind, Release(honour=("all",))) is not None


def test_a_continuation_repeats_its_own_trial_and_is_no_duplicate_for_that() -> None:
    one = make_trajectory(synthesizer="critical_step", **FAILURE)
    found = dropped("duplicates")
    assert may_leave(Lineage(one), found, LABELLED_TURNS, Release()) is not None
    assert may_leave(Lineage(one, continuation=True), found, LABELLED_TURNS, Release()) is None


def test_of_a_labelled_turn_its_author_counts_and_not_the_trajectorys() -> None:
    one = make_trajectory(authorship=Authorship.SCRIPTED)
    assert may_leave(Lineage(one, (Authorship.MODEL,)), {}, LABELLED_TURNS, Release()) is None
    sides = (Authorship.MODEL, Authorship.SCRIPTED)
    assert may_leave(Lineage(make_trajectory(), sides), {}, LABELLED_TURNS, Release()) is not None


def test_a_task_of_a_benchmark_or_a_held_out_split_stays() -> None:
    given: dict[str, Any] = {"env": "echo", "goal": "Say it.", "seed": 3}
    for fields, reason in (({"benchmark": "b"}, "benchmark"), ({"split": "test"}, "held_out")):
        found = may_leave(Lineage(Task.identified(**given, **fields)), {}, TASKS, Release())
        assert found is not None
        assert found.reason == reason
    assert may_leave(Lineage(Task.identified(**given, split="train")), {}, TASKS, Release()) is None


ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("synth/datasets", "synth/exporters", "synth/pairs", "synth/selection", "synth/hub")
STAGES = ("flows/stages/export.py", "flows/stages/select.py")
LINEAGE = {"benchmark", "split", "held_out"}
COPIES = {"synth/exporters/facts.py", "synth/exporters/forms/verl.py"}
"""Forms that write the two columns of a row beside its others."""

COUNTS = {"facts", "self"}
"""The Hub's card counts rows that are held out; it decides nothing."""


def read_otherwise(tree: ast.AST) -> Iterator[ast.Attribute]:
    """Reads of a lineage's attributes but those that copy one to a label's field of its name."""
    copied = {
        id(word.value)
        for word in ast.walk(tree)
        if isinstance(word, ast.keyword) and word.arg in LINEAGE
    }
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node.attr not in LINEAGE:
            continue
        of_counts = isinstance(node.value, ast.Name) and node.value.id in COUNTS
        if id(node) not in copied | called and not of_counts:
            yield node


@pytest.mark.slow
def test_no_second_place_reads_benchmarks_splits_or_decisions() -> None:
    files = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    files += [ROOT / name for name in STAGES]
    for path in files:
        name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        if name == "synth/datasets/release.py" or name in COPIES:
            continue
        found = [node.lineno for node in read_otherwise(ast.parse(text))]
        assert found == [], f"{name}: lines {found} read what only the release rule may"
        assert not re.search(r"FROM decisions\b|JOIN decisions\b", text), name
        assert "keep is False" not in text, name
