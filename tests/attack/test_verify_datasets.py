"""What a consumer holds in hand: a dataset's folder alone, checked by `sha256sum`, by `synth
verify` and before it is loaded.
"""

import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from synth.cli.verify import verify
from synth.exporters.folder.sums import SUMS, folder_problems
from synth.exporters.load import load_verified
from synth.ledger.storage import Storage
from synth.schemas.errors import DamagedError
from tests.attack.finished_run import finish, flip

FLIPS = 120


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = finish(tmp_path_factory.mktemp("finished") / "run")
    return Path(shutil.copytree(run / "datasets/sft", run.parent / "copied"))


def summed(folder: Path) -> bool:
    return (
        subprocess.run(
            ["sha256sum", "--status", "--strict", "-c", SUMS], cwd=folder, check=False
        ).returncode
        == 0
    )


def test_every_flipped_dataset_is_refused_before_it_is_loaded(dataset: Path) -> None:
    draw, files = Random(6), sorted(path for path in dataset.rglob("*") if path.is_file())
    for number in range(FLIPS):
        path = files[number % len(files)]
        before = flip(path, draw)
        with pytest.raises(DamagedError, match="nothing was loaded"):
            load_verified(dataset)
        if path.name != SUMS:
            assert [said.partition(": ")[0] for said in folder_problems(Storage(str(dataset)))] == [
                str(path)
            ]
        path.write_bytes(before)
    assert list(folder_problems(Storage(str(dataset)))) == []


def test_sha256sum_alone_finds_the_same_and_needs_no_synth(dataset: Path) -> None:
    assert summed(dataset)
    draw = Random(8)
    for path in sorted(path for path in dataset.rglob("*") if path.is_file() and path.name != SUMS):
        before = flip(path, draw)
        assert not summed(dataset)
        path.write_bytes(before)
    assert summed(dataset)


def test_deleted_cut_added_linked_and_swapped_files_are_refused(
    dataset: Path, tmp_path: Path
) -> None:
    for path in sorted(path for path in dataset.rglob("*") if path.is_file()):
        for number, harm in enumerate(("delete", "cut", "append", "link", "rename")):
            copy = Path(shutil.copytree(dataset, tmp_path / f"{path.name}{number}")) / path.name
            match harm:
                case "delete":
                    copy.unlink()
                case "cut":
                    copy.write_bytes(copy.read_bytes()[:-1])
                case "append":
                    copy.write_bytes(copy.read_bytes() + b"\n")
                case "link":
                    copy.rename(tmp_path / "aside")
                    copy.symlink_to(tmp_path / "aside")
                case "rename":
                    copy.rename(copy.with_name(f"x{copy.name}"))
            if (harm, path.name) != ("link", SUMS):
                with pytest.raises(DamagedError):
                    load_verified(copy.parent)
    more = Path(shutil.copytree(dataset, tmp_path / "more"))
    (more / "train-00001.parquet").write_bytes(next(dataset.glob("*.parquet")).read_bytes())
    with pytest.raises(DamagedError, match="does not name it"):
        load_verified(more)
    os.mkfifo(more / "pipe")
    assert len(list(folder_problems(Storage(str(more))))) == 2


def test_an_untouched_copy_loads_and_what_a_download_puts_beside_it_is_no_part_of_it(
    dataset: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(dataset, tmp_path / "copy"))
    (copy / ".cache/huggingface").mkdir(parents=True)
    (copy / ".cache/huggingface/CACHEDIR.TAG").write_text("x")
    (copy / ".gitattributes").write_text("x")
    sums = Storage(str(copy)).sha256(SUMS)
    rows = load_verified(copy, split="train", expect=sums, cache_dir=str(tmp_path / "cache"))
    assert rows.num_rows == 8
    with pytest.raises(DamagedError, match="not the one that was expected; nothing was loaded"):
        load_verified(copy, split="train", expect="0" * 64)
    done = CliRunner().invoke(verify, [str(copy)])
    assert (done.exit_code, done.stdout.splitlines()[0]) == (
        0,
        "3 files read: all as SHA256SUMS says",
    )
    assert CliRunner().invoke(verify, [str(copy), "--expect", sums]).exit_code == 0
    assert isinstance(
        CliRunner().invoke(verify, [str(copy), "--expect", "0" * 64]).exception, DamagedError
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "0" * 64,
        f"{'0' * 64}  ../../etc/passwd\n",
        f"{'0' * 64}  /etc/passwd\n",
        "\n",
        "\xff",
    ],
)
def test_sums_that_somebody_made_up_lead_nowhere(dataset: Path, tmp_path: Path, text: str) -> None:
    copy = Path(shutil.copytree(dataset, tmp_path / "copy"))
    (copy / SUMS).write_bytes(text.encode("latin-1"))
    (said,) = folder_problems(Storage(str(copy)))
    assert said.startswith(f"{copy / SUMS}: damaged (")


def test_a_dataset_of_an_earlier_version_is_said_to_be_compared_in_part(
    dataset: Path, tmp_path: Path
) -> None:
    old = Path(shutil.copytree(dataset, tmp_path / "old"))
    (old / SUMS).unlink()
    (said,) = folder_problems(Storage(str(old)))
    assert "so README.md and manifest.json are not compared" in said
    flip(next(old.glob("*.parquet")), Random(1))
    assert len(list(folder_problems(Storage(str(old))))) == 2


def made_up(folder: Path, front: str, **files: str) -> Path:
    """A dataset whose sums hold, and whose card says `front`."""
    folder.mkdir()
    for name, text in {
        "README.md": f"---\n{front}\n---\nhi\n",
        "manifest.json": '{"files":{}}',
        **files,
    }.items():
        (folder / name).write_text(text)
    digests = sorted(
        (path.name, sha256(path.read_bytes()).hexdigest()) for path in folder.iterdir()
    )
    (folder / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in digests))
    assert summed(folder)
    return folder


OUT = [
    "../secret/private.jsonl",
    "{secret}/private.jsonl",
    "https://127.0.0.1:1/private.jsonl",
    "hf://datasets/a/b/p.jsonl",
    "../secret/*",
    "file://{secret}/private.jsonl",
    "zip://p.jsonl::{secret}/x.zip",
    "x/../../secret/private.jsonl",
    ".cache/private.jsonl",
    ".cache/*",
]


@pytest.mark.parametrize(
    "form",
    [
        "data_files: '{}'",
        "data_files: ['{}']",
        "data_files: [{{split: train, path: ['{}']}}]",
        "data_dir: '{}'",
    ],
)
@pytest.mark.parametrize("path", OUT)
def test_a_card_that_leads_elsewhere_is_refused_though_its_sums_hold(
    tmp_path: Path, path: str, form: str
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "private.jsonl").write_text('{"a":"TOPSECRET"}\n')
    front = f"configs:\n- config_name: default\n  {form.format(path.format(secret=secret))}"
    ds = made_up(tmp_path / "ds", front, **{"train.jsonl": '{"a":"x"}\n'})
    shutil.copytree(secret, ds / ".cache")
    with pytest.raises(DamagedError, match=r"README\.md: its configs name .*; nothing was loaded"):
        load_verified(ds, split="train")
    done = CliRunner().invoke(verify, [str(ds)])
    assert isinstance(done.exception, DamagedError)
    assert [line.partition(": ")[0] for line in done.stdout.splitlines()] == [str(ds / "README.md")]


@pytest.mark.parametrize("name", [".huggingface.yaml", "dataset_infos.json", "ds.py"])
def test_a_file_that_steers_the_loader_is_refused(tmp_path: Path, name: str) -> None:
    ds = made_up(tmp_path / "ds", "license: mit", **{name: "{}", "train.jsonl": '{"a":"x"}\n'})
    with pytest.raises(DamagedError, match=f"{name}: `datasets` would read or run it"):
        load_verified(ds, split="train")
    assert isinstance(CliRunner().invoke(verify, [str(ds)]).exception, DamagedError)


def test_rows_of_the_folder_load_and_those_of_other_kinds_and_places_do_not(tmp_path: Path) -> None:
    ds = made_up(tmp_path / "ds", "license: mit", **{"train.jsonl": '{"a":"x"}\n'})
    (tmp_path / "private.jsonl").write_text('{"a":"TOPSECRET"}\n')
    assert load_verified(ds, split="train", cache_dir=str(tmp_path / "cache"))[0] == {"a": "x"}
    assert load_verified(
        ds, data_files="train.jsonl", split="train", cache_dir=str(tmp_path / "cache")
    )[0] == {"a": "x"}
    with pytest.raises(DamagedError, match="does not name it; nothing was loaded"):
        load_verified(ds, data_files=str(tmp_path / "private.jsonl"), split="train")
    other = made_up(
        tmp_path / "other",
        "configs: [{config_name: default, data_files: train.txt}]",
        **{"train.txt": "x\n"},
    )
    with pytest.raises(DamagedError, match="other kinds may name files elsewhere"):
        load_verified(other, split="train")
    image = (
        "configs: [{config_name: default, data_files: train.jsonl, features: [{name: a, "
        "dtype: image}]}]"
    )
    pictures = made_up(
        tmp_path / "pictures",
        image,
        **{"train.jsonl": '{"a":{"path":"/etc/passwd","bytes":null}}\n'},
    )
    with pytest.raises(DamagedError, match="read from the paths in it"):
        load_verified(pictures, split="train", cache_dir=str(tmp_path / "cache"))
