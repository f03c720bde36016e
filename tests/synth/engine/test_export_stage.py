"""The stage `export`: its datasets are what it wrote, or are written again; those of others are
left alone.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.ledger import StoredLedger
from synth.ledger.sql import query
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from tests.flow_files import echo_flow, run_flow
from tests.synth.exporters.solved import load

pytestmark = pytest.mark.slow

EXPORT: dict[str, Any] = {"as": "trl", "include_scripted": True}


def flow(*exports: dict[str, Any], trials: int = 1) -> Flow:
    return echo_flow(
        stages=[
            {"rollout": {"trials": trials}},
            {"filter": ["solved"]},
            *({"export": e} for e in exports),
        ]
    )


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run_flow(flow(EXPORT), str(tmp_path / "run"))
    return tmp_path / "run"


@pytest.mark.parametrize(
    "damage",
    ["deleted shard", "truncated shard", "deleted card", "deleted manifest", "deleted folder"],
)
def test_what_is_lost_or_damaged_on_the_disk_is_written_again_and_named(
    run: Path, damage: str
) -> None:
    before = tree(run / "datasets")
    (shard,) = (run / "datasets/sft").glob("*.parquet")
    match damage:
        case "deleted shard":
            shard.unlink()
        case "truncated shard":
            shard.write_bytes(shard.read_bytes()[:100])
        case "deleted card":
            (run / "datasets/sft/README.md").unlink()
        case "deleted manifest":
            (run / "datasets/sft/manifest.json").unlink()
        case "deleted folder":
            for path in (run / "datasets/sft").iterdir():
                path.unlink()
            (run / "datasets/sft").rmdir()
    _, _, said = run_flow(flow(EXPORT), str(run))
    assert f"export: {run}/datasets/sft" in said
    assert tree(run / "datasets") == before
    assert "export: nothing to do" in run_flow(flow(EXPORT), str(run))[2]


@pytest.mark.slow
def test_the_export_of_another_flow_is_replaced_when_the_first_flow_runs_again(
    run: Path, tmp_path: Path
) -> None:
    first = [row["trajectory_id"] for row in load(run / "datasets/sft", tmp_path / "cache")]
    run_flow(flow(EXPORT, trials=3), str(run))
    assert len(load(run / "datasets/sft", tmp_path / "cache")) == 3 * len(first)
    _, _, said = run_flow(flow(EXPORT), str(run))
    assert f"export: {run}/datasets/sft: holds another export; written again" in said
    assert [row["trajectory_id"] for row in load(run / "datasets/sft", tmp_path / "cache")] == first


@pytest.mark.slow
def test_a_card_that_was_edited_by_hand_stops_the_export_and_nothing_is_lost(run: Path) -> None:
    card = run / "datasets/sft/README.md"
    card.write_text("licence: ours\n" + card.read_text())
    before = tree(run / "datasets")
    assert "export: nothing to do" in run_flow(flow(EXPORT), str(run))[2]
    with pytest.raises(
        ConfigError,
        match=r"README.md: edited by hand; rename it first, or have it written anew with "
        r"overwrite: true",
    ):
        run_flow(flow(EXPORT, trials=2), str(run))
    assert tree(run / "datasets") == before
    assert query(StoredLedger(str(run)), "SELECT count(*) FROM trajectories").fetchall() == [
        (8,)
    ], "the new episodes are kept"
    _, reports, _ = run_flow(flow(EXPORT | {"overwrite": True}, trials=2), str(run))
    assert reports["export"]["datasets"]["sft"]["rows"] == 8
    assert not card.read_text().startswith("licence")


def test_a_folder_of_somebody_else_in_the_way_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    run_flow(flow(), str(tmp_path / "run"))
    theirs = tmp_path / "run/datasets/sft"
    theirs.mkdir(parents=True)
    (theirs / "train.parquet").write_bytes(b"theirs")
    with pytest.raises(ConfigError, match=r"holds train\.parquet, which synth did not write"):
        run_flow(flow(EXPORT | {"overwrite": True}), str(tmp_path / "run"))
    assert tree(theirs) == {"train.parquet": b"theirs"}


def test_two_export_stages_need_folders_of_their_own(tmp_path: Path) -> None:
    strict = {"require_tools": True} | EXPORT
    with pytest.raises(
        ConfigError, match="export_2 and export both write datasets/sft; give one a name of its own"
    ) as caught:
        run_flow(flow(EXPORT, strict), str(tmp_path / "run"))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()
    _, reports, _ = run_flow(flow(EXPORT, strict | {"name": "strict"}), str(tmp_path / "run"))
    assert sorted(p.name for p in (tmp_path / "run/datasets").iterdir()) == ["sft", "strict-sft"]
    assert (list(reports["export"]["datasets"]), list(reports["export_2"]["datasets"])) == (
        ["sft"],
        ["strict-sft"],
    )
    _, _, said = run_flow(flow(EXPORT, strict | {"name": "strict"}), str(tmp_path / "run"))
    assert [line for line in said.splitlines() if "export" in line] == [
        "export: nothing to do",
        "export_2: nothing to do",
    ]


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden"])
def test_a_name_that_is_no_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"stages\[2\]\.export\.name: "):
        run_flow(flow(EXPORT | {"name": name}), str(tmp_path / "run"))


@pytest.mark.slow
def test_a_flow_whose_rows_are_all_left_out_writes_no_dataset_and_says_why(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(flow({}), url)
    empty = "4 of 4 trajectories left out as scripted; include_scripted: true takes them in"
    assert (
        reports["export"]["datasets"]["sft"]["rows"],
        reports["export"]["datasets"]["sft"]["empty"],
    ) == (0, empty)
    assert not (tmp_path / "run/datasets/sft").exists()
    _, again, said = run_flow(flow({}), url)
    assert "export: nothing to do" in said
    assert again["export"] == reports["export"]
    _, reports, _ = run_flow(flow(EXPORT), url)
    assert reports["export"]["datasets"]["sft"]["rows"] == 4
    run_flow(flow({}), url)
    assert len(list((tmp_path / "run/datasets/sft").glob("*.parquet"))) == 1, (
        "an earlier dataset is left alone"
    )


def test_what_filters_dropped_is_not_repeated_by_the_export(tmp_path: Path) -> None:
    stops_early = {"explorer": {"policy": "expert", "profiles": "stops_early"}}
    _, reports, _ = run_flow(
        Flow.model_validate(flow({}).model_dump() | {"models": stops_early}), str(tmp_path / "run")
    )
    dataset = reports["export"]["datasets"]["sft"]
    dropped = sum(sum(f["dropped"].values()) for f in reports["filter"]["filters"])
    assert dropped > 0
    assert sum(dataset["filtered"].values()) == dropped
    assert set(dataset["left_out"]) <= {"scripted"}


def test_a_run_that_was_moved_knows_its_datasets_by_their_new_place(
    run: Path, tmp_path: Path
) -> None:
    run.rename(tmp_path / "elsewhere")
    _, reports, said = run_flow(flow(EXPORT), str(tmp_path / "elsewhere"))
    assert reports["export"]["datasets"]["sft"]["path"] == "datasets/sft"
    assert "export: nothing to do" in said
    for file in (tmp_path / "elsewhere").rglob("*"):
        if "workers" in file.parts:  # who worked on it says where
            continue
        assert not file.is_file() or str(run).encode() not in file.read_bytes(), file
