"""Folders of data sets: readable at every moment, repeatable, and never over something that synth
did not write.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synth.exporters.folder.dataset_folder import DatasetFolder, Replace
from synth.exporters.folder.manifest import why_to_write
from synth.exporters.forms.trl import SFT
from synth.exporters.kind import as_flag
from synth.schemas.errors import ConfigError

ROW: dict[str, Any] = {
    **{name: None for name in SFT.schema().names},
    "trajectory_id": "t",
    "messages": ['{"role":"user","content":"?"}'],
    "tools": [],
    "trained_turns": [0],
    "masked_turns": [],
}


def write(
    out: Path | str, rows: int = 1, *, replace: Replace = "nothing", stage_key: str | None = None
) -> tuple[str, ...]:
    with DatasetFolder(out, replace=replace, stage_key=stage_key, say=as_flag) as folder:
        folder.write([ROW] * rows, SFT, 2)
        return folder.commit("card\n", {"kind": "sft"})


def names(out: Path) -> list[str]:
    return sorted(p.name for p in out.iterdir())


def test_the_same_content_again_changes_nothing(tmp_path: Path) -> None:
    written = [tmp_path / "out" / name for name in write(tmp_path / "out", 3)]
    before = [(p.stat().st_ino, p.stat().st_mtime_ns) for p in written]
    write(tmp_path / "out", 3)
    assert [(p.stat().st_ino, p.stat().st_mtime_ns) for p in written] == before


def test_other_content_is_refused_unless_it_may_be_replaced(tmp_path: Path) -> None:
    first = write(tmp_path / "out", 5)
    with pytest.raises(
        ConfigError,
        match="holds another dataset; choose another folder, or replace it with --overwrite",
    ):
        write(tmp_path / "out", 1)
    assert names(tmp_path / "out") == sorted(first)
    second = write(tmp_path / "out", 1, replace="written")
    assert names(tmp_path / "out") == sorted(second)
    assert [name for name in second if not name.startswith("train-")] == [
        "README.md",
        "manifest.json",
        "SHA256SUMS",
    ]


@pytest.mark.parametrize(
    "foreign", ["notes.txt", "manifest.json", "train-00000.parquet", "README.md"]
)
@pytest.mark.parametrize("replace", ["nothing", "written", "edited"])
def test_a_folder_of_somebody_else_is_never_touched(
    tmp_path: Path, foreign: str, replace: Replace
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / foreign).write_text('{"name": "theirs"}')
    with pytest.raises(
        ConfigError, match=f"holds {foreign}, which synth did not write; choose another folder"
    ):
        write(tmp_path / "out", replace=replace)
    assert names(tmp_path / "out") == [foreign]
    assert (tmp_path / "out" / foreign).read_text() == '{"name": "theirs"}'


def test_a_data_set_of_a_flow_is_not_taken_over_unasked_even_by_the_same_rows(
    tmp_path: Path,
) -> None:
    written = write(tmp_path / "out", stage_key="k", replace="written")
    before = {name: (tmp_path / "out" / name).read_bytes() for name in written}
    with pytest.raises(
        ConfigError,
        match="holds a dataset that a flow wrote; choose another folder, or replace it with "
        "--overwrite",
    ):
        write(tmp_path / "out")
    assert {
        name: (tmp_path / "out" / name).read_bytes() for name in names(tmp_path / "out")
    } == before
    write(tmp_path / "out", replace="edited")
    assert why_to_write(str(tmp_path / "out"), "k") == f"{tmp_path / 'out'}: holds another export"


def test_files_that_were_added_to_a_data_set_by_hand_stay(tmp_path: Path) -> None:
    write(tmp_path / "out")
    (tmp_path / "out" / "LICENSE").write_text("mine")
    (tmp_path / "out" / ".git").mkdir()
    written = write(tmp_path / "out", 2, replace="written")
    assert names(tmp_path / "out") == sorted([*written, "LICENSE", ".git"])


def test_a_card_that_was_edited_by_hand_is_replaced_only_when_that_is_asked_for(
    tmp_path: Path,
) -> None:
    written = write(tmp_path / "out")
    card = tmp_path / "out" / "README.md"
    card.write_text("licence: ours\n" + card.read_text())
    write(tmp_path / "out", replace="written")
    assert card.read_text().startswith("licence: ours\n"), (
        "the same rows again leave the card alone"
    )
    with pytest.raises(
        ConfigError,
        match=r"README.md: edited by hand; rename it first, or have it written anew with "
        "--overwrite",
    ):
        write(tmp_path / "out", 2, replace="written")
    assert card.read_text().startswith("licence: ours\n")
    assert names(tmp_path / "out") == sorted(written)
    write(tmp_path / "out", 2, replace="edited")
    assert card.read_text().startswith("card\n")


def test_an_edited_card_that_was_renamed_is_in_nobodys_way(tmp_path: Path) -> None:
    write(tmp_path / "out")
    (tmp_path / "out" / "README.md").rename(tmp_path / "out" / "mine.md")
    written = write(tmp_path / "out", 2, replace="written")
    assert names(tmp_path / "out") == sorted([*written, "mine.md"])


def test_a_broken_off_export_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="drawn"), DatasetFolder(tmp_path / "out") as folder:
        folder.write(_failing(), SFT, 2)
    assert list(tmp_path.iterdir()) == []


def _failing() -> Iterator[dict[str, Any]]:
    yield ROW
    raise RuntimeError("while rows are drawn")


def _dead_process() -> int:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_what_processes_that_died_left_aside_is_removed_and_what_others_write_is_not(
    tmp_path: Path,
) -> None:
    dead, alive = _dead_process(), os.getppid()
    for name in (f".out.partial-{dead}", f".out.partial-{alive}", f".other.partial-{dead}"):
        (tmp_path / name).mkdir()
    write(tmp_path / "out")
    assert names(tmp_path) == sorted([f".out.partial-{alive}", f".other.partial-{dead}", "out"])
    (tmp_path / "out" / f".partial-{dead}").mkdir()
    written = write(tmp_path / "out", 2, replace="written")
    assert names(tmp_path / "out") == sorted(written)


def test_shards_of_an_export_that_died_half_way_are_no_strangers(tmp_path: Path) -> None:
    written = write(tmp_path / "out")
    (tmp_path / "out" / "manifest.json").unlink()
    (tmp_path / "out" / "README.md").unlink()
    (tmp_path / "out" / "train-0123456789abcdef-00000.parquet").write_bytes(b"PAR1")
    assert write(tmp_path / "out") == written
    assert names(tmp_path / "out") == sorted(written)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("file", "is a file, not a folder; name another dataset folder"),
        ("file/out", "file is a file, not a folder; name another dataset folder"),
        ("/proc/out", "/proc/out: cannot be used: No such file or directory"),
        (
            "s3-without-a-package://bucket/out",
            "s3-without-a-package://bucket/out: cannot be opened as a dataset folder: ",
        ),
    ],
)
def test_a_place_that_nothing_can_be_written_to_is_one_line(
    tmp_path: Path, out: str, message: str
) -> None:
    (tmp_path / "file").write_text("a file")
    place = out if out.startswith("/") or "://" in out else str(tmp_path / out)
    with pytest.raises(ConfigError, match=message) as caught:
        write(place)
    assert "\n" not in str(caught.value)
    assert names(tmp_path) == ["file"]


@pytest.mark.slow
def test_a_disk_that_fills_up_is_one_line_and_leaves_the_former_data_set_whole(
    tmp_path: Path,
) -> None:
    written = write(tmp_path / "out")
    before = {name: (tmp_path / "out" / name).read_bytes() for name in written}
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "from pathlib import Path\n"
        "from tests.synth.exporters.test_dataset_folder import ROW, write\n"
        "import os; ROW['task_id'] = os.urandom(3000).hex()\n"
        f"write(Path({str(tmp_path / 'out')!r}), 2, replace='written')\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False
    )
    assert (
        f"ConfigError: {tmp_path / 'out'}: the file-size limit of this process is reached"
        in done.stderr
    )
    assert {
        name: (tmp_path / "out" / name).read_bytes() for name in names(tmp_path / "out")
    } == before
    assert names(tmp_path) == ["out"]


def test_a_link_to_a_folder_elsewhere_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    assert sorted(write(tmp_path / "out")) == names(tmp_path / "disk")
    assert (tmp_path / "out").is_symlink()


def test_an_object_store_gets_the_same_files_and_loses_those_that_are_replaced(
    tmp_path: Path,
) -> None:
    import fsspec

    url = f"memory://{tmp_path.name}/out"
    local = write(tmp_path / "out", 3)
    assert write(url, 3) == local
    store, root = fsspec.core.url_to_fs(url)
    assert {name: store.cat_file(f"{root}/{name}") for name in local} == {
        n: (tmp_path / "out" / n).read_bytes() for n in local
    }
    with pytest.raises(ConfigError, match="holds another dataset"):
        write(url, 1)
    assert sorted(path.rpartition("/")[2] for path in store.ls(root, detail=False)) == sorted(local)
    second = write(url, 1, replace="written")
    assert sorted(path.rpartition("/")[2] for path in store.ls(root, detail=False)) == sorted(
        second
    )


def test_a_stage_knows_its_own_data_set_and_sees_what_is_wrong_with_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert why_to_write(str(out), "k") == f"{out}: no dataset stands there"
    written = write(out, 3, stage_key="k")
    assert why_to_write(str(out), "k") is None
    assert why_to_write(str(out), "another") == f"{out}: holds another export"
    first, second = (out / name for name in written if name.endswith(".parquet"))
    whole = first.read_bytes()
    first.write_bytes(whole[:-1])
    assert why_to_write(str(out), "k") == f"{first}: damaged"
    first.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert why_to_write(str(out), "k") == f"{first}: damaged"
    first.write_bytes(whole)
    second.unlink()
    assert why_to_write(str(out), "k") == f"{second}: missing"
    write(out, 3, stage_key="k", replace="written")
    assert why_to_write(str(out), "k") is None
    (out / "README.md").write_text("edited")
    assert why_to_write(str(out), "k") is None, "a card that was edited is no damage"
    (out / "README.md").unlink()
    assert why_to_write(str(out), "k") == f"{out / 'README.md'}: missing"


def test_the_manifest_says_what_was_written(tmp_path: Path) -> None:
    write(tmp_path / "out", 3, stage_key="k")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["written_by"], manifest["stage_key"], manifest["kind"]) == (
        "synth",
        "k",
        "sft",
    )
    sizes = {name: file["bytes"] for name, file in manifest["files"].items()}
    assert sizes == {p.name: p.stat().st_size for p in (tmp_path / "out").glob("*.parquet")}


def test_the_files_carry_the_features_for_the_hub(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    (parquet,) = (
        tmp_path / "out" / name for name in write(tmp_path / "out") if name.endswith(".parquet")
    )
    assert b'"_type": "Json"' in pq.read_schema(parquet).metadata[b"huggingface"]
