"""Every benchmark runs at a tiny size, and a missed target is seen; no speed is asserted here."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as together
from benchmarks import (
    control_tokens,
    corpus_memory,
    critical_steps,
    curation_pass,
    empty_flow,
    engine_efficiency,
    export_rate,
    import_rate,
    injected_failures,
    journal_cost,
    label_exports,
    ledger_commits,
    memory_growth,
    near_duplicates,
    openai_client,
    pairs,
    pattern_scan,
    report_size,
    reverse_tasks,
    rollout_rate,
    storefront_targets,
    topology_memory,
)
from benchmarks.__main__ import ALL, ON_REAL_DATA
from benchmarks.command_line import ROOT, ended
from benchmarks.figures import Figure, Report, Target, shown, table
from benchmarks.machine import CpuOfOthers, machine
from benchmarks.process_table import children, session_members
from benchmarks.real_trajectories import DATA, real

pytestmark = pytest.mark.slow
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
TINY: dict[str, Callable[[], Report]] = {
    "corpus_memory": lambda: corpus_memory.measure(count=200),
    "critical_steps": lambda: critical_steps.measure(tasks=4),
    "empty_flow": lambda: empty_flow.measure(rounds=1, kills=2),
    "engine_efficiency": lambda: engine_efficiency.measure(
        latency_ms=1, skew_latency_ms=1, episodes=4, few_episodes=3, in_flight=(1, 2, 3), rounds=1
    ),
    "export_rate": lambda: export_rate.measure(few=20, many=40),
    "import_rate": lambda: import_rate.measure(count=20, long=40, rounds=1),
    "injected_failures": lambda: injected_failures.measure(tasks=4),
    "journal_cost": lambda: journal_cost.measure(episodes=2, synced=3, rounds=1),
    "label_exports": lambda: label_exports.measure(few=10, many=20),
    "ledger_commits": lambda: ledger_commits.measure(shards=1, rounds=1),
    "memory_growth": lambda: memory_growth.measure(episodes=2, factor=2, rounds=1),
    "near_duplicates": lambda: near_duplicates.measure(documents=40, planted=3, rounds=1),
    "openai_client": lambda: openai_client.measure(
        latency_ms=1, episodes=4, in_flight=(2,), rounds=1
    ),
    "pairs": lambda: pairs.measure(tasks=6),
    "pattern_scan": lambda: pattern_scan.measure(most=3, values=1, rounds=1),
    "report_size": lambda: report_size.measure(count=40, few=20),
    "reverse_tasks": lambda: reverse_tasks.measure(explorations=3),
    "rollout_rate": lambda: rollout_rate.measure(tasks=2, trials=2, rounds=1),
    "storefront_targets": lambda: storefront_targets.measure(tasks=2, rounds=1, with_live=False),
    "topology_memory": lambda: topology_memory.measure(count=80, small=40),
}
LONG = {
    "critical_steps",
    "curation_pass",
    "engine_efficiency",
    "export_rate",
    "injected_failures",
    "label_exports",
    "memory_growth",
    "pairs",
    "pattern_scan",
    "report_size",
    "reverse_tasks",
    "topology_memory",
}
REAL: dict[str, Callable[[], Report]] = {
    "control_tokens": lambda: control_tokens.measure(list(real(["tau1"]))[:40]),
    "curation_pass": lambda: curation_pass.measure(count=400, long=400, plain=40, rounds=1),
}


def marked(names: Iterable[str]) -> list[Any]:
    """Names of benchmarks; those that take long are for the night."""
    return [
        pytest.param(name, marks=pytest.mark.nightly) if name in LONG else name
        for name in sorted(names)
    ]


REPORT = Report(
    "Toys",
    (
        Figure("speed", 9.0, "/s", Target("at least", 10)),
        Figure("size", 3, "bytes", Target("at most", 3)),
    ),
    "By hand.",
)


def test_all_benchmarks_are_run_together() -> None:
    assert sorted(ALL) == sorted(TINY | REAL)
    assert set(ON_REAL_DATA) == set(REAL)


def test_those_that_read_real_trajectories_are_skipped_in_words_where_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(together, "DATA", ROOT.parent / "nowhere" / "data")
    assert together.main(ON_REAL_DATA) == 0
    printed = capsys.readouterr().out
    assert (
        "## curation_pass\n\nSkipped: real trajectories absent (nowhere/data beside the "
        "repository)." in printed
    )


@pytest.mark.skipif(not DATA.is_dir(), reason="real trajectories absent: ../shared/data")
@pytest.mark.parametrize("name", marked(REAL))
def test_it_runs_on_real_trajectories_and_gives_figures(name: str) -> None:
    report = REAL[name]()
    assert len(report.figures) >= 3
    assert report.title in table(report, 0.0)


@LINUX
@pytest.mark.parametrize("name", marked(TINY))
def test_it_runs_and_gives_figures(name: str) -> None:
    report = TINY[name]()
    assert len(report.figures) > 3
    assert all(figure.value == figure.value for figure in report.figures), "no figure is undefined"
    assert report.title in table(report, 0.0)


@LINUX
def test_an_empty_flow_starts_and_leaves_no_process() -> None:
    counts = [
        figure for figure in empty_flow.measure(rounds=1, kills=1).figures if figure.unit == ""
    ]
    assert [figure.value for figure in counts] == [0, 0, 0]


def test_the_peak_of_a_process_is_counted_in_mib(tmp_path: Path) -> None:
    assert ended([sys.executable, "-c", "b'x' * (800 * 2**20)"], tmp_path).peak_mib > 800


def test_a_command_that_fails_is_told_with_its_output(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="the reason why"):
        ended([sys.executable, "-c", "raise SystemExit('the reason why')"], tmp_path)


def test_a_missed_target_is_named_and_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(REPORT, CpuOfOthers()) == 1
    printed = capsys.readouterr().out
    assert "at least 10 /s: MISSED" in printed
    assert "at most 3 bytes: holds" in printed


def test_a_noisy_machine_is_said() -> None:
    assert "run again on a quiet machine" in table(REPORT, 0.5)
    assert "run again" not in table(REPORT, 0.1)


def test_the_machine_is_named_with_its_cores_and_python() -> None:
    assert " cores, " in machine()
    assert f"Python {sys.version.split()[0]}" in machine()


@LINUX
def test_a_child_and_a_session_member_are_seen() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.pid in children(os.getpid())
        assert session_members(process.pid) == {process.pid}
        process.kill()
        process.wait()
        assert session_members(process.pid) == set()
