"""`synth export`: one line for what cannot be written, in the words of the command line, and
nothing half-written.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from synth.cli.export import export
from synth.schemas.flow import Flow
from tests.flow_files import echo_flow, run_flow
from tests.synth.cli.test_commands import refused, synth
from tests.synth.exporters.solved import load


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("exports") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        run_flow(echo_flow(), str(run))
    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--out", "s3://bucket/sft"],
            "s3://bucket/sft: cannot be opened as a dataset folder: Install s3fs to access S3: "
            "pip install -c constraints.txt -e '.[s3]'",
            marks=pytest.mark.skipif(find_spec("s3fs") is not None, reason="s3fs is installed"),
        ),
        (
            ["--out", "nowhere://bucket/sft"],
            "nowhere://bucket/sft: cannot be opened as a dataset folder: ",
        ),
        (["--out", "/proc/sft"], "/proc/sft: cannot be used: No such file or directory"),
        (["--out", "README.md"], "README.md is a file, not a folder; name another dataset folder"),
        (["--out", "."], "which synth did not write; choose another folder"),
        (
            ["--out", "x", "--as", "yaml"],
            "--as 'yaml' is not a form of sft; known: trl, llamafactory",
        ),
        (
            ["--out", "x", "--outcome", "invalid"],
            "'invalid' is not one of 'success', 'failure', 'truncated', 'unknown'",
        ),
    ],
)
def test_what_cannot_be_written_is_one_line_and_exit_2(
    run_dir: Path, arguments: list[str], message: str
) -> None:
    before = sorted(Path.cwd().iterdir())
    assert message in refused(synth("export", run_dir, "--include-scripted", *arguments))
    assert sorted(Path.cwd().iterdir()) == before


@pytest.mark.slow
def test_an_export_without_rows_says_why_and_which_flag_helps(
    run_dir: Path, tmp_path: Path
) -> None:
    done = synth("export", run_dir, "--out", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"synth: sft: no rows, so {tmp_path / 'out'} was not written: 8 of 8 trajectories left "
        "out as scripted; "
        "--include-scripted takes them in"
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_another_dataset_is_replaced_only_with_the_flag_that_the_refusal_names(
    run_dir: Path, tmp_path: Path
) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    assert exported(run_dir, out) is None
    (out / "README.md").write_text("---\nlicense: mit\n---\n")
    assert exported(run_dir, out) is None, "the same rows again change nothing"
    run_flow(echo_flow(env={"name": "echo", "tasks": 2, "turns": 3}), str(other))
    line = refused(synth("export", other, "--include-scripted", "--out", out))
    assert (
        line == f"synth: {out}: holds another dataset; choose another folder, or replace it with "
        "--overwrite"
    )
    assert (out / "README.md").read_text() == "---\nlicense: mit\n---\n"
    assert exported(other, out, "--overwrite") is None
    assert len(load(out, tmp_path / "cache")) == 4


def exported(run: Path, out: Path, *flags: str) -> BaseException | None:
    """What an export in this process ends with."""
    return (
        CliRunner()
        .invoke(export, [str(run), "--include-scripted", "--out", str(out), *flags])
        .exception
    )


@pytest.mark.slow
def test_a_flow_says_why_there_is_no_dataset_and_that_an_earlier_one_is_not_its_own(
    tmp_path: Path,
) -> None:
    def flow(**settings: bool) -> Flow:
        return echo_flow(stages=[{"rollout": {"trials": 1}}, {"export": settings}])

    where = tmp_path / "run/datasets/sft"
    line = (
        f"no rows, so {where} was not written: 4 of 4 trajectories left out as scripted; "
        "include_scripted: true takes them in"
    )
    path = tmp_path / "flow.yaml"
    path.write_text(yaml.safe_dump(flow().model_dump(mode="json")))
    done = synth("run", path, "--run-dir", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert f"sft      {line}\n" in done.stdout
    run_flow(flow(include_scripted=True), str(tmp_path / "run"))
    assert (
        f"sft      {line}; what stands there is an earlier export's\n"
        in synth("run", path, "--run-dir", tmp_path / "run").stdout
    )


@pytest.mark.slow
def test_a_run_that_was_copied_prints_the_place_of_the_copy(run_dir: Path, tmp_path: Path) -> None:
    shutil.copytree(run_dir, tmp_path / "copy")
    flow = tmp_path / "flow.yaml"
    flow.write_text(yaml.safe_dump(echo_flow().model_dump(mode="json")))
    done = synth("run", flow, "--run-dir", tmp_path / "copy")
    assert f"sft      {tmp_path / 'copy/datasets/sft'}\n" in done.stdout
    assert str(run_dir) not in done.stdout + done.stderr


@pytest.mark.parametrize("command", ["export", "replay", "recheck"])
@pytest.mark.slow
def test_lost_shards_are_said(run_dir: Path, tmp_path: Path, command: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(run_dir, run)
    (lost,) = (run / "turns").glob("*.parquet")
    lost.unlink()
    out = ("--out", tmp_path / "out") if command == "export" else ()
    done = synth(command, run, *out)
    assert (
        f"{lost}: missing; the 8 trajectories of its shard (stage rollout) count as never made"
        in done.stderr
    )
