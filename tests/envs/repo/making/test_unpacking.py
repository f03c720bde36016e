"""Archives and folders that mean harm are refused; what is taken has fixed modes."""

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from synth.envs.repo.making.taking import unpacking
from synth.envs.repo.making.taking.unpacking import take, unpack
from synth.schemas import ConfigError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and modes are those of POSIX")


def archive(place: Path, *members: tuple[str, dict[str, object]], content: bytes = b"x\n") -> Path:
    with tarfile.open(place, "w:gz") as opened:
        for name, fields in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for field, value in fields.items():
                setattr(info, field, value)
            opened.addfile(info, io.BytesIO(content))
    return place


def test_an_archive_is_unpacked_without_its_top_folder(tmp_path: Path) -> None:
    made = archive(
        tmp_path / "a.tar.gz",
        ("lib-1.0/lib.py", {"mode": 0o4777, "uid": 5}),
        ("lib-1.0/doc/read.md", {"mode": 0o200}),
    )
    unpack(made, tmp_path / "tree")
    found = {
        path.relative_to(tmp_path / "tree").as_posix(): path.stat().st_mode & 0o7777
        for path in (tmp_path / "tree").rglob("*.*")
    }
    assert found == {"lib.py": 0o755, "doc/read.md": 0o644}


@pytest.mark.parametrize(
    ("name", "fields", "why"),
    [
        ("lib/../../out", {}, "is no path to write to"),
        ("/lib/out", {}, "stands in no folder of its own"),
        ("../lib/out", {}, "stands in no folder of its own"),
        ("lone.py", {}, "stands in no folder of its own"),
        ("lib/link", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "is a link"),
        ("lib/link", {"type": tarfile.LNKTYPE, "linkname": "lib/a.py"}, "is a link"),
        ("lib/device", {"type": tarfile.CHRTYPE}, "is no plain file"),
        ("lib/pipe", {"type": tarfile.FIFOTYPE}, "is no plain file"),
        ("lib/a\nb.py", {}, "is no path to write to"),
        ("lib/" + "a/" * 300, {}, "is no path to write to"),
        ("lib/a.py", {}, "File exists"),
    ],
)
def test_what_leads_out_or_is_no_plain_file_is_refused_and_nothing_stays(
    tmp_path: Path, name: str, fields: dict[str, object], why: str
) -> None:
    made = archive(tmp_path / "a.tar.gz", ("lib/a.py", {}), (name, fields))
    with pytest.raises(ConfigError, match=why):
        unpack(made, tmp_path / "tree")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz"]


def test_an_archive_that_grows_beyond_bounds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = archive(tmp_path / "a.tar.gz", ("lib/a.py", {}), content=bytes(4 << 20))
    assert made.stat().st_size < 10_000
    monkeypatch.setattr(unpacking, "MOST_BYTES", 1 << 20)
    with pytest.raises(ConfigError, match="holds more than"):
        unpack(made, tmp_path / "tree")


def test_what_is_no_archive_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(b"no archive")
    with pytest.raises(ConfigError, match=r"a\.tar\.gz: cannot be unpacked"):
        unpack(tmp_path / "a.tar.gz", tmp_path / "tree")


def test_a_folder_is_taken_without_version_control_and_caches(tmp_path: Path) -> None:
    source = tmp_path / "mine"
    for path in ("a.py", ".git/config", "pkg/__pycache__/a.pyc", "pkg/b.py", "data/large.bin"):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text("x\n")
    take(source, tmp_path / "tree", ["data/*"])
    found = [path for path in (tmp_path / "tree").rglob("*") if path.is_file()]
    assert sorted(path.name for path in found) == ["a.py", "b.py"]


@pytest.mark.parametrize(
    "make",
    [
        lambda place: place.symlink_to("/etc/passwd"),
        lambda place: place.symlink_to("/etc"),
        lambda place: os.mkfifo(place),
    ],
    ids=["a link to a file", "a link to a folder", "a pipe"],
)
def test_a_folder_with_a_link_or_a_pipe_is_refused(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.py").write_text("x\n")
    make(tmp_path / "mine" / "odd")
    with pytest.raises(ConfigError, match="--leave-out 'odd'"):
        take(tmp_path / "mine", tmp_path / "tree")
    take(tmp_path / "mine", tmp_path / "tree", ["odd"])
    assert (tmp_path / "tree" / "a.py").exists()
