"""What this project is built from: locks that agree with the pins, hashes that stop an
installation, licences that stop a release.
"""

import base64
import hashlib
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from supply.licences import LIST, Package, licence_of, of_a_bill, refused
from supply.lock import EXTRAS, LOCKS, MORE, entries, plain

ROOT = Path(__file__).resolve().parents[2]
LOCK_FILES = sorted(LOCKS.glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(lock: Path) -> dict[str, str]:
    return {
        name: entry.split()[0].partition("==")[2]
        for name, entry in entries(lock.read_text()).items()
    }


def wanted(extra: str | None) -> set[str]:
    lines = (
        PROJECT["project"]["dependencies"]
        if extra is None
        else PROJECT["project"]["optional-dependencies"][extra]
    )
    return {plain(re.split(r"[<>=!~\[ ;]", line, maxsplit=1)[0]) for line in lines}


def test_the_locks_hold_what_the_constraints_hold_and_nothing_else() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().split() if line]
    constraints = {plain(line.partition("==")[0]): line.partition("==")[2] for line in lines}
    locked: dict[str, set[str]] = {}
    for lock in LOCK_FILES:
        for name, version in pins(lock).items():
            locked.setdefault(name, set()).add(version)
    assert {name: {version} for name, version in constraints.items()} == locked
    assert len(lines) == len(constraints) > 200


def test_each_extra_has_a_lock_with_what_it_names() -> None:
    assert set(EXTRAS) == set(PROJECT["project"]["optional-dependencies"])
    assert {lock.stem for lock in LOCK_FILES} == {"core", "cuda", *EXTRAS, *MORE}
    core = set(pins(LOCKS / "core.txt"))
    assert wanted(None) <= core
    for extra in EXTRAS:
        assert wanted(extra) <= core | set(pins(LOCKS / f"{extra}.txt")), extra
    assert plain(PROJECT["build-system"]["requires"][0].partition(">")[0]) in pins(
        LOCKS / "build.txt"
    )


@pytest.mark.parametrize("lock", LOCK_FILES, ids=lambda lock: lock.stem)
def test_every_package_is_pinned_with_hashes_and_no_place_is_named(lock: Path) -> None:
    text = lock.read_text()
    assert not re.search(r"https?:|--(?:index|extra|find|trusted)|file:|@ ", text)
    for name, entry in entries(text).items():
        assert re.match(r"[A-Za-z0-9._\[\],-]+==[^\s;]+(?: ; [^\\]+)?\s*\\\n", entry), name
        assert re.findall(r"--hash=sha256:[0-9a-f]{64}(?=\s)", entry), name
        assert "sha1" not in entry


def test_torch_is_locked_with_the_hashes_of_both_of_its_builds() -> None:
    """The registry's own, and the CPU build that CI installs (from a folder of wheels)."""
    found = [entries(lock.read_text()).get("torch") for lock in LOCK_FILES]
    torches = {entry for entry in found if entry}
    assert len(torches) == 1
    assert "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b" in next(iter(torches))
    assert len(re.findall("sha256:", next(iter(torches)))) > 20
    assert all(name.startswith(("nvidia-", "cuda-", "triton")) for name in pins(LOCKS / "cuda.txt"))


def wheel(folder: Path, content: str = "") -> Path:
    """A small wheel, made here."""
    path = folder / "synth_planted-1.0-py3-none-any.whl"
    files = {
        "synth_planted.py": content,
        "synth_planted-1.0.dist-info/METADATA": "Metadata-Version: 2.1\n"
        "Name: synth-planted\nVersion: 1.0\n",
    }
    files["synth_planted-1.0.dist-info/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: here\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    digests = {
        name: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        for name, text in files.items()
    }
    record = "".join(f"{name},sha256={digests[name]},{len(text)}\n" for name, text in files.items())
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {
            **files,
            "synth_planted-1.0.dist-info/RECORD": record + "synth_planted-1.0.dist-info/RECORD,,\n",
        }.items():
            archive.writestr(name, text)
    return path


def installed(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    (folder / "lock.txt").write_text(line)
    command = [
        *PIP,
        "install",
        "--no-index",
        "--find-links",
        str(folder),
        "--require-hashes",
        "--target",
        str(folder / "to"),
    ]
    return subprocess.run(
        [*command, "-r", str(folder / "lock.txt")], capture_output=True, text=True, check=False
    )


def pip() -> list[str]:
    """pip of this interpreter, or the one that the interpreter behind the virtual environment
    has.
    """
    for python in (sys.executable, str(Path(sys.base_prefix, "bin", "python3"))):
        if (
            subprocess.run(
                [python, "-m", "pip", "--version"], capture_output=True, check=False
            ).returncode
            == 0
        ):
            return [python, "-m", "pip", "--isolated", "--disable-pip-version-check"]
    return []


PIP = pip()
needs_pip = pytest.mark.skipif(not PIP, reason="no pip in this environment, nor behind it")


@needs_pip
def test_a_file_that_is_not_the_one_that_was_locked_stops_the_installation(tmp_path: Path) -> None:
    digest = hashlib.sha256(wheel(tmp_path).read_bytes()).hexdigest()
    line = f"synth-planted==1.0 --hash=sha256:{digest}\n"
    assert installed(tmp_path, line).returncode == 0
    wheel(tmp_path, "import os  # something else\n")
    tampered = installed(tmp_path, line)
    assert tampered.returncode != 0
    assert "DO NOT MATCH THE HASHES" in tampered.stderr


@needs_pip
@pytest.mark.parametrize(
    "line", ["synth-planted==1.0\n", "synth-planted\n", "synth-planted>=1 --hash=sha256:{digest}\n"]
)
def test_what_has_no_hash_or_no_version_is_not_installed(tmp_path: Path, line: str) -> None:
    digest = hashlib.sha256(wheel(tmp_path).read_bytes()).hexdigest()
    assert installed(tmp_path, line.format(digest=digest)).returncode != 0
    assert not (tmp_path / "to").exists()


def test_the_makefile_installs_what_is_locked_and_the_checkout_alone_beside_it() -> None:
    text = (ROOT / "Makefile").read_text()
    assert (
        "LOCKED = -m pip install -q --disable-pip-version-check --require-hashes "
        "--no-build-isolation" in text
    )
    assert "--no-index --no-deps --no-build-isolation -e ." in text
    assert "-c constraints.txt" not in text


def test_the_licences_of_all_packages_are_known_and_allowed() -> None:
    """By the table that `make licences` writes: it names every locked package that has files for
    Linux.
    """
    rows = [
        line.split(",", 2)
        for line in (ROOT / "supply" / "licences.csv").read_text().splitlines()[1:]
    ]
    table = {plain(name): version for name, version, _ in rows}
    locked = {name: version for lock in LOCK_FILES for name, version in pins(lock).items()}
    elsewhere = {
        name
        for lock in LOCK_FILES
        for name, entry in entries(lock.read_text()).items()
        if " ; " in entry.splitlines()[0]
    }
    assert {name for name in locked if name not in table} <= elsewhere
    assert {
        name: version
        for name, version in table.items()
        if locked.get(name) != version.partition("+")[0]
    } == {}
    packages = [Package(name, version, licence.strip('"')) for name, version, licence in rows]
    assert refused(packages, yaml.safe_load(LIST.read_text())) == []


@pytest.mark.parametrize(
    "licence",
    ["", "AGPL-3.0", "MIT AND GPL-3.0-only", "Proprietary", "SSPL-1.0", "MIT; see elsewhere"],
)
def test_a_package_without_a_licence_or_with_one_that_is_not_allowed_is_named(licence: str) -> None:
    (line,) = refused([Package("planted", "1.0", licence)], yaml.safe_load(LIST.read_text()))
    assert line.startswith("planted 1.0 ")


def test_a_reason_must_be_written_and_unknown_is_no_licence(tmp_path: Path) -> None:
    listed = {"allowed": [["MIT"]], "named": {"planted": ""}, "families": {}}
    assert len(refused([Package("planted", "1.0", "")], listed)) == 1
    assert (
        licence_of({"license": "UNKNOWN", "classifier": ["License :: OSI Approved :: MIT License"]})
        == "MIT License"
    )
    assert licence_of({"license": "x" * 500}) == ""
    bill = tmp_path / "bill.json"
    bill.write_text(
        '{"components": [{"name": "a", "version": "1", "licenses": [{"license": {"name": '
        '"UNKNOWN"}}]}]}'
    )
    assert of_a_bill(bill) == [Package("a", "1", "")]
