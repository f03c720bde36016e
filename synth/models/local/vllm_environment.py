"""vLLM's own environment, made by one command: its pins contradict Prefect's, so that it can be no
extra of ours.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from synth.schemas import ConfigError, SynthError, content_hash
from synth.text.data_files import read

READY = ".ready"
"""Written last: an environment without it was never finished."""
Command = Callable[[Sequence[str]], None]


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an environment holds: requirements as pip takes them, and packages that go again; and
    the flags that a server out of it is started with.
    """

    requirements: tuple[str, ...]
    remove: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def builds() -> Mapping[str, Wanted]:
    """What is installed, by kind of machine: cpu, cuda."""
    found: dict[str, Wanted] = read("data/vllm.yaml", dict[str, Wanted])
    return found


def build_here() -> str:
    """cuda where the machine has an NVIDIA GPU, else cpu."""
    return "cuda" if Path("/dev/nvidia0").exists() or shutil.which("nvidia-smi") else "cpu"


def folder_of(build: str) -> Path:
    """Where an environment lies: $XDG_CACHE_HOME/synth or ~/.cache/synth, and a name of its own for
    each set of requirements.
    """
    cache_folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    held = content_hash([builds()[build].requirements, builds()[build].remove])[:10]
    return cache_folder / "synth" / f"vllm-{build}-{held}"


def installed() -> Path | None:
    """The interpreter of the environment that `install` has made for this machine."""
    folder = folder_of(build_here())
    return _python(folder) if (folder / READY).is_file() else None


def flags_of(python: str) -> tuple[str, ...]:
    """What a server is started with because of its build; none where the interpreter is that of no
    environment of ours.
    """
    of_ours = (build for build in builds() if python == str(_python(folder_of(build))))
    return next((builds()[build].flags for build in of_ours), ())


def carried_out(command: Sequence[str]) -> None:
    """Raises `SynthError` with the last line that a command has written, where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.strip()]
        said = lines[-1] if lines else f"exit code {done.returncode}"
        raise SynthError(f"{' '.join(command[:4])} ...: {said}")


def install(
    build: str | None = None,
    *,
    say: Callable[[str], None] = lambda line: None,
    command: Command = carried_out,
) -> Path:
    """Makes the environment of a build, the one for this machine where none is named, and gives its
    interpreter; one that is there already is left as it is.

    Raises `ConfigError` for an unknown build, and `SynthError` where a command fails: then nothing
    stays that would be taken for an environment.
    """
    build = build or build_here()
    if build not in builds():
        raise ConfigError(f"{build!r} is no build of vLLM; there are {', '.join(builds())}")
    wanted, folder = builds()[build], folder_of(build)
    python = _python(folder)
    if (folder / READY).is_file():
        say(f"vLLM ({build}) is there already: {python}")
        return python
    if folder.exists():
        shutil.rmtree(folder)
    say(f"vLLM ({build}): {', '.join(wanted.requirements)} into {folder}; some minutes, some GB")
    command([sys.executable, "-m", "venv", str(folder)])
    pip = [str(python), "-m", "pip"]
    command([*pip, "install", "-q", "--disable-pip-version-check", *wanted.requirements])
    if wanted.remove:
        command([*pip, "uninstall", "-q", "-y", *wanted.remove])
    (folder / READY).touch()
    return python


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"
