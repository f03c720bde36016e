"""A run goes into a folder of its own; what a user keeps elsewhere is not touched."""

import shutil
from pathlib import Path

import pytest

from synth.flows.own.run_folder import refuse_foreign
from synth.ledger.ledger import StoredLedger
from synth.ledger.storage import Storage
from synth.schemas.errors import ConfigError, DamagedError
from tests.flow_files import echo_flow, run_flow

SMALL = {"env": {"name": "echo", "tasks": 1, "turns": 1}, "stages": [{"rollout": {"trials": 1}}]}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "flow.yaml",
            "cost.json",
            "datasets/mine/a.txt",
            "tasks/mine.md",
            "trajectories/a.parquet",
        ),
        *("notes.txt", "manifest/mine.yaml", "a/b/c"),
    ],
)
def test_a_folder_with_a_users_own_files_is_refused_unchanged(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ConfigError, match="is not a run folder, and holds " + name.split("/")[0]):
        run_flow(echo_flow(**SMALL), str(tmp_path))
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / name).read_text() == "mine"


def test_the_folder_of_the_flow_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text("name: x")
    with pytest.raises(ConfigError, match=r"holds my\.yaml"):
        refuse_foreign(str(tmp_path))


def test_of_many_files_the_first_three_are_named(tmp_path: Path) -> None:
    for name in ("d.md", "b.md", "a.md", "c.md"):
        (tmp_path / name).write_text("mine")
    with pytest.raises(
        ConfigError,
        match=r"is not a run folder, and holds a\.md, b\.md, c\.md, \.\.\.; name another one with "
        r"--run-dir",
    ):
        refuse_foreign(str(tmp_path))


def test_a_prefix_of_an_object_store_that_holds_other_objects_is_refused() -> None:
    storage = Storage("memory://foreign/prefix")
    refuse_foreign("memory://foreign/prefix")
    storage.create("photos/a.jpg", b"mine")
    with pytest.raises(
        ConfigError, match="is not a run folder, and holds photos; name another one"
    ):
        refuse_foreign("memory://foreign/prefix")


def test_a_run_that_lost_its_first_manifest_line_is_called_damaged_not_foreign(
    tmp_path: Path,
) -> None:
    run_flow(echo_flow(**SMALL), str(tmp_path))
    (tmp_path / "manifest" / "00000000").unlink()
    with pytest.raises(DamagedError, match="00000000: this manifest line is missing"):
        run_flow(echo_flow(**SMALL), str(tmp_path))


def test_shards_that_a_killed_import_left_are_no_obstacle_and_other_files_are(
    tmp_path: Path,
) -> None:
    for name in ("trajectories", "turns"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{'0a' * 16}.parquet").write_text("")
        (tmp_path / name / ".tmp-1-0a").write_text("")
    refuse_foreign(str(tmp_path))
    (tmp_path / "turns" / "notes.parquet").write_text("mine")
    with pytest.raises(ConfigError, match="holds turns; name another one with --into"):
        refuse_foreign(str(tmp_path), option="--into")


def test_logs_and_what_a_killed_start_left_are_no_obstacle(tmp_path: Path) -> None:
    for name in ("out.log", "slurm-7.out", ".gitkeep"):
        (tmp_path / name).write_text("")
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "manifest").mkdir()
    (tmp_path / "manifest" / ".tmp-1-a").write_text("")
    run_flow(echo_flow(**SMALL), str(tmp_path))
    assert len(StoredLedger(str(tmp_path)).state.current_valid()) == 1


def test_a_flow_file_beside_imported_trajectories_is_not_written_over(tmp_path: Path) -> None:
    StoredLedger(str(tmp_path), create=True)  # what an import makes
    (tmp_path / "flow.yaml").write_text("mine")
    with pytest.raises(ConfigError, match=r"holds a flow\.yaml that no run wrote"):
        run_flow(echo_flow(**SMALL), str(tmp_path))
    assert (tmp_path / "flow.yaml").read_text() == "mine"


@pytest.mark.slow
def test_a_copied_run_goes_on_from_where_the_first_stopped(tmp_path: Path) -> None:
    run_flow(echo_flow(**SMALL), str(tmp_path / "a"))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    _, _, said = run_flow(echo_flow(**SMALL), str(tmp_path / "b"))
    assert "rollout: nothing to do" in said
    more = SMALL | {"stages": [{"rollout": {"trials": 3}}]}
    run_flow(echo_flow(**more), str(tmp_path / "b"))
    assert [len(StoredLedger(str(tmp_path / name)).state.current_valid()) for name in "ab"] == [
        1,
        3,
    ]


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            " ",
            "a::b",
            "::",
            "simplecache::memory://x",
            "x\udc80",
            "x\ny",
            "/dev/null",
            "/dev/null/x",
        ),
        *(
            "foo://x",
            "http://127.0.0.1:1/x",
            "github://a/b",
            "ftp://127.0.0.1/x",
            "hf://a/b",
            "reference://",
            "data:,x",
        ),
        *("memory://", "s3://"),
    ],
)
def test_where_no_run_can_lie_is_told_at_once(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Storage(url)
    assert "\n" not in str(caught.value)
    str(caught.value).encode()


def test_a_new_run_inside_another_one_is_refused_and_one_that_is_there_goes_on(
    tmp_path: Path,
) -> None:
    outer, inner = tmp_path / "mine", tmp_path / "mine" / "2026-11-21"
    refuse_foreign(str(inner))
    StoredLedger(str(inner), create=True)
    StoredLedger(str(outer), create=True)
    refuse_foreign(str(outer))
    refuse_foreign(str(inner))
    refuse_foreign(f"{outer}-2026-11-21")
    refuse_foreign("memory://mine/2026-11-21")
    with pytest.raises(
        ConfigError,
        match=f"lies inside the run {outer}; name a folder beside it .*{outer}-2026-11-22",
    ):
        refuse_foreign(str(outer / "2026-11-22"))


def test_heartbeats_and_leases_of_a_worker_that_began_nothing_are_no_obstacle(
    tmp_path: Path,
) -> None:
    for name in ("workers", "claims"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text("x")
    refuse_foreign(str(tmp_path))
