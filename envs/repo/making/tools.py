"""The tools of a pool: pytest and what it needs, copied out of the environment that runs; our
plug-ins; and the commands `python` and `pytest`, which find them wherever the pool lies.
"""

import compileall
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from py_compile import PycInvalidationMode

from synth.envs.data_file import data_file
from synth.envs.repo.making.layout import tree_digest
from synth.schemas import ConfigError

_MADE_OF = "made-of"
"""The file that says what a folder of tools was made of, and what came of it."""
_PLACES = ("/usr/bin", "/bin", "/usr/local/bin")
"""Where a confined process finds programs."""


def make_tools(folder: Path) -> None:
    """Writes the folder, all at once; one that is as it would be now is left alone. Raises
    `ConfigError` where the extra `repo` is missing, or a Python that confined processes see.
    """
    packages, python = _packages(), _python()
    inside = {
        one.name: one.read_bytes()
        for one in (files("synth.envs.repo.making") / "inside").iterdir()
        if one.name.startswith("synth_")
    }
    commands = {name: text.format(python=python) for name, text in data_file("repo/tools").items()}
    said = _said(packages, inside, commands)
    if _text(folder / _MADE_OF) == f"{said} {tree_digest(folder, without=_MADE_OF)}":
        return

    new = folder.with_name(f"{folder.name}.{os.getpid()}.new")
    (new / "lib").mkdir(parents=True)
    (new / "bin").mkdir()
    _write_nothing(new / "nothing")
    for package in packages:
        _copy(package, new / "lib")
    for name, content in inside.items():
        (new / "lib" / name).write_bytes(content)
    for name, text in commands.items():
        (new / "bin" / name).write_text(text)
        (new / "bin" / name).chmod(0o755)
    _compile(new / "lib", python)
    (new / _MADE_OF).write_text(f"{said} {tree_digest(new)}")
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def _write_nothing(place: Path) -> None:
    """An empty file and an empty folder, shown in the place of what trees must not see."""
    (place / "folder").mkdir(parents=True)
    (place / "file").touch()


def _said(
    packages: Sequence[Distribution], inside: Mapping[str, bytes], commands: Mapping[str, str]
) -> str:
    """The hash of what the folder is made of."""
    told = [repr(sorted(inside.items())), repr(commands), sys.version]
    told += [f"{one.name} {one.version}" for one in packages]
    return sha256("\n".join(told).encode()).hexdigest()


def _packages() -> list[Distribution]:
    """pytest and all that it needs here, by name. Raises `ConfigError`."""
    try:
        found, todo = dict[str, Distribution](), ["pytest"]
        while todo:
            name = todo.pop()
            if name in found:
                continue
            found[name] = distribution(name)
            from packaging.requirements import Requirement  # pytest brings it

            wanted = map(Requirement, found[name].requires or ())
            todo += [
                one.name
                for one in wanted
                if one.marker is None or one.marker.evaluate({"extra": ""})
            ]
    except (PackageNotFoundError, ImportError) as error:
        raise ConfigError(
            f"making tasks out of repositories needs pytest ({error}): pip install "
            "'synth-trajectories[repo]'"
        ) from None
    return [found[name] for name in sorted(found)]


def _copy(package: Distribution, into: Path) -> None:
    """The modules of a package, without programs, tests and compiled files."""
    for one in package.files or ():
        outside = one.parts[0] in ("..", "/") or ".." in one.parts or one.suffix == ".pth"
        if outside or "__pycache__" in one.parts:
            continue
        place = into / one
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(package.locate_file(one)), place)


def _python() -> str:
    """The Python that runs the tests: one that stands where confined processes see it. Raises
    `ConfigError`.
    """
    names = (f"python{sys.version_info.major}.{sys.version_info.minor}", "python3")
    found = (Path(place, name) for name in names for place in _PLACES)
    seen = next((one for one in found if os.access(one, os.X_OK)), None)
    if seen is None:
        raise ConfigError(
            f"no Python in {', '.join(_PLACES)}, and the tests run where nothing else is to be "
            "seen: install one (Debian, Ubuntu: apt install python3)"
        )
    return str(seen)


def _compile(folder: Path, python: str) -> None:
    """Compiled once, as no run of tests may write; for the Python of the box where it is ours."""
    if os.path.realpath(python) == os.path.realpath(sys.executable):
        compileall.compile_dir(
            folder, quiet=2, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH
        )
        return
    command = [python, "-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*command, str(folder)], check=False, capture_output=True)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
