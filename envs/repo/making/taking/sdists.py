"""Source distributions of pinned libraries, fetched by pip with their hash."""

import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

import msgspec

from synth.envs.data_file import data_file
from synth.schemas import ConfigError

TIME_S = 600


class OlderRelease(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An earlier release of a library."""

    version: str
    sha256: str


class PinnedSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of `data/libraries.yaml`."""

    repository: str
    version: str
    licence: str
    sha256: str
    older: OlderRelease | None = None
    leave_out: tuple[str, ...] = ()


def releases() -> dict[str, PinnedSource]:
    """The libraries that are known by name."""
    return msgspec.convert(data_file("repo/libraries"), dict[str, PinnedSource])


def release(name: str) -> PinnedSource:
    """One of them. Raises `ConfigError`."""
    found = releases().get(name)
    if found is None:
        known = ", ".join(releases())
        raise ConfigError(f"--library {name}: not known; known: {known}; or give a --folder")
    return found


def fetched(name: str, wanted: PinnedSource | OlderRelease, folder: Path) -> Path:
    """The archive of a release; fetched into the folder where it is not there yet. Raises
    `ConfigError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = _archive(folder, wanted)
    if found is not None:
        return found

    with tempfile.TemporaryDirectory(dir=folder) as new:
        line = f"{name}=={wanted.version} --hash=sha256:{wanted.sha256}\n"
        Path(new, "wanted.txt").write_text(line)
        options = ["--no-deps", "--no-binary", ":all:", "--require-hashes", "-q", "-d", new]
        command = [sys.executable, "-m", "pip", "download", *options, "-r", f"{new}/wanted.txt"]
        try:
            told = subprocess.run(
                command, capture_output=True, text=True, timeout=TIME_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise ConfigError(f"{name}: pip took more than {TIME_S} s") from None
        found = _archive(Path(new), wanted)
        if found is None:
            why = (told.stderr.strip().splitlines() or ["pip downloaded another file"])[-1]
            raise ConfigError(f"{name} {wanted.version}: cannot be fetched: {why}")
        return found.rename(folder / found.name)


def _archive(folder: Path, wanted: PinnedSource | OlderRelease) -> Path | None:
    """The file of a folder that has the wanted hash."""
    for path in sorted(folder.glob("*.tar.gz")):
        if sha256(path.read_bytes()).hexdigest() == wanted.sha256:
            return path
    return None
