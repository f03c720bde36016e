"""What is what in a repository: source, tests and what configures them, what is left behind."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path

from synth.envs.data_file import data_file
from synth.envs.repo.pool import Engine
from synth.schemas import content_hash

CODE: Mapping[Engine, tuple[str, ...]] = {"python": (".py",), "node": (".js", ".mjs", ".cjs")}
"""How the names of files of code end."""


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path, or the name of its file, is among some patterns; * stands for / too."""
    name = path.rpartition("/")[2]
    return any(fnmatchcase(path, one) or fnmatchcase(name, one) for one in patterns)


def protected_patterns() -> tuple[str, ...]:
    """Of what an agent may not change with effect."""
    return tuple(data_file("repo/layout")["protected"])


def left_behind() -> tuple[str, ...]:
    """Of what is not taken from a user's folder."""
    return tuple(data_file("repo/layout")["left_behind"])


def files_of(tree: Path) -> list[str]:
    """All files of a tree by their relative paths, sorted; links are none."""
    return sorted(
        path.relative_to(tree).as_posix()
        for path in tree.rglob("*")
        if path.is_file() and not path.is_symlink()
    )


def engine_of(tree: Path) -> Engine:
    """What runs a repository's tests: node where it has a package.json and nothing that installs it
    for Python.
    """
    python = any((tree / name).exists() for name in ("pyproject.toml", "setup.py", "setup.cfg"))
    return "node" if (tree / "package.json").exists() and not python else "python"


def source_of(tree: Path, *endings: str) -> tuple[str, ...]:
    """The files of code that tests are about; of Python, where no ending is named."""
    apart = [*protected_patterns(), *data_file("repo/layout")["no_source"]]
    code = endings or CODE["python"]
    return tuple(
        path for path in files_of(tree) if path.endswith(code) and not matches(path, apart)
    )


def tree_digest(tree: Path, *, without: str = "") -> str:
    """The hash of all files of a tree but one: paths, contents, and which can be executed."""
    found = [
        (path, sha256((tree / path).read_bytes()).hexdigest(), (tree / path).stat().st_mode & 0o100)
        for path in files_of(tree)
        if path != without
    ]
    return content_hash(found)
