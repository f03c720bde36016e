"""What appears beside the files of a run, what is put back from before, what a writer that was
killed has left.
"""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from synth.ledger import StoredLedger
from synth.ledger.atomic_write import write_named
from synth.ledger.log import manifest
from synth.ledger.log.verify import Verified, problems
from synth.ledger.storage import Storage
from tests.attack.finished_run import finish, found, whole_flow
from tests.flow_files import run_flow


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finish(tmp_path_factory.mktemp("first") / "run")


@pytest.fixture
def run(first: Path, tmp_path: Path, _state_folder: Path) -> Path:
    return Path(shutil.copytree(first, tmp_path / "run"))


@pytest.mark.parametrize(
    "name",
    [
        "sft/train-0123456789abcdef-00001.parquet",
        "sft/.hidden",
        "sft/deep/er/x.json",
        "extra/README.md",
        "top.jsonl",
        "sft/ü\u202e",
    ],
)
def test_a_file_that_nobody_wrote_among_the_datasets(run: Path, name: str) -> None:
    path = run / "datasets" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    (said,) = found(run)
    assert (
        said == f"{path}: no manifest line names it: synth did not write it there; move it away "
        "before anybody reads the folder"
    )


def test_a_second_copy_of_rows_under_another_name_tells_whose_copy_it_is(run: Path) -> None:
    (shard,) = (run / "datasets/sft").glob("*.parquet")
    more = shard.with_name(shard.name.replace("00000", "00001"))
    shutil.copy(shard, more)
    (said,) = found(run)
    assert said.startswith(
        f"{more}: no manifest line names it: a copy of datasets/sft/{shard.name} under another name"
    )


@pytest.mark.parametrize(
    "name",
    ["datasets/sft/README.md", "flow.yaml", "cost.json", "report.html", "datasets/sft/SHA256SUMS"],
)
def test_a_link_or_a_pipe_in_the_place_of_a_file_is_named_and_not_waited_for(
    run: Path, tmp_path: Path, name: str
) -> None:
    path, elsewhere = run / name, tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert [one.partition(";")[0] for one in found(run)] == [
        f"{path}: no file of its own but a link, a folder or a device"
    ]
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    assert [one.partition(": ")[0] for one in found(run)] == [str(path)]
    path.unlink()
    os.mkfifo(path)
    assert [one.partition(": ")[0] for one in found(run)] == [str(path)]
    path.unlink()
    path.mkdir()
    assert [one.partition(": ")[0] for one in found(run)] == [str(path)]


def test_a_linked_folder_among_the_datasets_is_named_and_not_followed(
    run: Path, tmp_path: Path
) -> None:
    (run / "datasets/more").symlink_to("/proc")
    assert [one.partition(": ")[0] for one in found(run)] == [str(run / "datasets/more")]


def test_files_of_an_earlier_state_that_are_put_back_are_named_as_such(run: Path) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    run_flow(whole_flow(trials=3), str(run))
    assert found(run) == []
    changed = [
        path
        for path, held in before.items()
        if "workers" not in path.parts and (not path.exists() or path.read_bytes() != held)
    ]
    assert {
        "flow.yaml",
        "cost.json",
        "report.html",
        "README.md",
        "manifest.json",
        "SHA256SUMS",
    } <= {path.name for path in changed}
    for path in changed:
        now = path.read_bytes() if path.exists() else None
        path.write_bytes(before[path])
        (said,) = found(run)
        assert said.startswith(
            f"{path}: holds an earlier version"
            if now is not None
            else f"{path}: no manifest line names it any more"
        )
        path.unlink() if now is None else path.write_bytes(now)


def test_what_is_damaged_is_whole_again_after_the_same_command(run: Path) -> None:
    draw = Random(3)
    files = [
        p
        for p in run.rglob("*")
        if p.is_file() and ("datasets" in p.parts or p.parent == run) and p.name != "README.md"
    ]
    for some in (files,):
        for harm in (
            lambda p: p.unlink(),
            lambda p: p.write_bytes(p.read_bytes()[: draw.randrange(20)]),
        ):
            for path in some:
                harm(path)
            assert {one.partition(": ")[0] for one in found(run)} == {str(path) for path in some}
            run_flow(whole_flow(), str(run))
            assert found(run) == []


def test_a_card_that_was_changed_is_named_until_it_may_be_written_anew(run: Path) -> None:
    card = run / "datasets/sft/README.md"
    card.write_text("mine")
    run_flow(whole_flow(), str(run))
    assert card.read_text() == "mine", "an edited card is not replaced unasked"
    (said,) = found(run)
    assert said.startswith(f"{card}: edited by hand, or damaged")
    run_flow(whole_flow(export={"overwrite": True}), str(run))
    assert found(run) == []


def test_a_writer_that_dies_after_any_of_its_steps_leaves_what_is_unfinished_and_not_damaged(
    run: Path,
) -> None:
    """The state after each step of the next export, built from the states before and after it: some
    files are put, some are not.
    """
    before = {path: path.read_bytes() for path in (run / "datasets").rglob("*") if path.is_file()}
    lines = {path.name for path in (run / "manifest").iterdir()}
    run_flow(whole_flow(trials=3), str(run))
    after = {path: path.read_bytes() for path in (run / "datasets").rglob("*") if path.is_file()}
    new = sorted(
        path
        for path in (run / "manifest").iterdir()
        if path.name.isdecimal() and path.name not in lines
    )
    storage = Storage(str(run))
    named = {int(path.name): manifest.read(storage, int(path.name)) for path in new}
    sft = max(
        number for number, line in named.items() if getattr(line, "folder", "") == "datasets/sft"
    )
    shutil.rmtree(run / "manifest/packs")
    for path in new:
        if int(path.name) > sft:
            path.unlink()
    for path in [*before, *after, run / "report.html", run / "cost.json"]:
        path.unlink(missing_ok=True)
    draw = Random(5)
    mine = sorted({path for path in (*before, *after) if path.parent.name == "sft"})
    others = {path: held for path, held in before.items() if path.parent.name == "rl"}
    for path, held in others.items():
        path.write_bytes(held)
    for put in range(len(mine) + 1):
        chosen = set(draw.sample(mine, put))
        for path in mine:
            held = after.get(path) if path in chosen else before.get(path)
            path.unlink(missing_ok=True)
            if held is not None:
                path.write_bytes(held)
        said = [one for one in found(run) if "datasets/sft" in one.partition(": ")[0]]
        assert all(": unfinished: " in one for one in said), said
        assert bool(said) == (
            (
                put < len(mine)
                and any(before.get(p) != after.get(p) for p in mine if p not in chosen)
            )
            or any(p in chosen and p not in after and p.exists() for p in mine)
        )
    run_flow(whole_flow(trials=3), str(run))
    assert found(run) == []
    assert {p: p.read_bytes() for p in after} == after


def test_a_half_written_export_beside_the_datasets_is_a_note(run: Path) -> None:
    for folder in (".sft.partial-4194305", "sft/.partial-4194305"):
        (run / "datasets" / folder).mkdir()
        (run / "datasets" / folder / "train-00000.parquet").write_bytes(b"PAR1")
    verified = Verified()
    assert list(problems(Storage(str(run)), verified)) == []
    assert "2 half-written files of an export that is at work or was killed" in verified.notes[0]


def test_several_processes_that_write_one_file_at_once_leave_one_that_is_named(run: Path) -> None:

    def write(mark: int) -> None:
        ledger = StoredLedger(str(run))
        for again in range(6):
            write_named(ledger, "cost.json", f"{mark} {again}".encode)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(write, mark) for mark in range(4)]:
            done.result()
    assert found(run) == []


def test_a_run_of_an_earlier_version_is_read_and_what_could_not_be_compared_is_said(
    tmp_path: Path, first: Path
) -> None:
    """Its lines have no history, and none names a file beside the tables."""
    source, old = Storage(str(first)), Storage(str(tmp_path / "old"))
    for folder in ("tasks", "trajectories", "turns", "decisions", "scores", "datasets", "replies"):
        if (first / folder).is_dir():
            shutil.copytree(first / folder, tmp_path / "old" / folder)
    for name in ("flow.yaml", "cost.json", "report.html"):
        shutil.copy(first / name, tmp_path / "old" / name)
    lines = [manifest.read(source, number) for number in sorted(manifest.listed(source))]
    kept = [
        manifest.RunLine("old", 1),
        *(
            line
            for line in lines[1:]
            if line is not None and not isinstance(line, manifest.WrittenLine)
        ),
    ]
    for number, line in enumerate(kept):
        old.create(manifest.name_of(number), manifest.stored(line))
    verified = Verified()
    assert list(problems(old, verified)) == []
    (note,) = verified.notes
    assert all(
        name in note
        for name in (
            "flow.yaml",
            "cost.json",
            "report.html",
            "datasets/sft/README.md",
            "datasets/rl/manifest.json",
        )
    )
    run_flow(whole_flow(), str(tmp_path / "old"))
    verified = Verified()
    assert list(problems(old, verified)) == []
    assert verified.notes == []
