"""`synth curate` as it is typed."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.flow_files import SYNTH

ROOT = Path(__file__).resolve().parents[3]
FLOW = "configs/curate.yaml"


def synth(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*SYNTH, *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    source = tmp_path / "chats.jsonl"
    chat = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    source.write_text(
        "".join(
            json.dumps({"messages": chat, "reward": reward, "id": reward}) + "\n"
            for reward in (1, 0)
        )
    )
    assert synth("import", source, "--into", tmp_path / "run", "-q").returncode == 0
    return tmp_path / "run"


@pytest.mark.slow
def test_it_ends_with_the_funnel_from_import_to_rows_and_the_paths(imported: Path) -> None:
    done = synth("curate", imported, FLOW)
    assert done.returncode == 0, done.stderr
    rows = [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in done.stdout.splitlines()
        if line.startswith("│")
    ]
    assert [row[:3] for row in rows] == [
        ["import", "2", "2"],
        ["filter solved", "2", "1"],
        ["export sft", "1", "1"],
    ]
    assert f"sft      {imported}/datasets/sft" in done.stdout
    assert list((imported / "datasets/sft").glob("*.parquet"))


@pytest.mark.slow
def test_a_dry_run_says_what_it_would_do_and_writes_nothing(imported: Path) -> None:
    before = sorted(imported.rglob("*"))
    done = synth("curate", imported, "configs/quickstart.yaml", "--dry-run")
    stages = "topology, filter, select, export, report"
    assert (
        done.stdout
        == f"configs/quickstart.yaml: valid; on the 2 valid trajectories of {imported}: {stages}\n"
    )
    assert (
        "reverse_task, rollout, reflect_retry, critical_step, failure_injection: not run"
        in done.stderr
    )
    assert sorted(imported.rglob("*")) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["{empty}", FLOW], "holds no run; `synth run FLOW.yaml --run-dir"),
        (["{run}", "nope.yaml"], "nope.yaml: no such file"),
        (["{run}", "configs/empty.yaml"], "has no stages after collection"),
        (
            ["{run}", FLOW, "--set", "stages.export.kind=sft"],
            f"{FLOW}: stages[1].export.kind is not a setting",
        ),
    ],
)
def test_what_the_user_must_mend_is_one_line_and_exit_2(
    imported: Path, words: list[str], line: str
) -> None:
    empty = imported.parent / "empty"
    done = synth("curate", *(word.format(run=imported, empty=empty) for word in words))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert line in done.stderr
    assert not empty.exists()


@pytest.mark.slow
def test_without_a_flow_it_proposes_one_and_tells_the_doors(imported: Path) -> None:
    kept = imported.parent / "mine.yaml"
    before = sorted(imported.rglob("*"))
    tried = synth("curate", imported, "--dry-run", "--save", kept)
    assert tried.returncode == 0, tried.stderr
    assert sorted(imported.rglob("*")) == before
    assert "# 2 valid trajectories: 1 success, 1 failure" in kept.read_text()

    done = synth("curate", imported)
    assert done.returncode == 0, done.stderr
    assert "Doors: 1 of 2 trajectories lead to rows of kind sft" in done.stdout
    assert list((imported / "datasets/sft").glob("*.parquet"))

    refused = synth("curate", imported, FLOW, "--save", kept)
    assert refused.returncode == 2
    assert "--save: is for" in refused.stderr
