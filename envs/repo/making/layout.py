"""What is what in a repository: source, tests and what configures them, what is left behind."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from synth.envs.data_file import data_file


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


def source_of(tree: Path, ending: str = ".py", also: Sequence[str] = ()) -> tuple[str, ...]:
    """The files of code that tests are about."""
    apart = [*protected_patterns(), *data_file("repo/layout")["no_source"], *also]
    return tuple(
        path for path in files_of(tree) if path.endswith(ending) and not matches(path, apart)
    )
