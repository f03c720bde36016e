"""A broken tree and the whole one, as changes of the pristine one."""

from collections.abc import Mapping
from pathlib import Path

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.pool import RepoTask


def whole_texts(broken: BrokenTree | RepoTask) -> dict[str, str | None]:
    """What the whole tree changes of the pristine one: the solution's texts."""
    return dict(broken.solution)


def broken_texts(broken: BrokenTree | RepoTask) -> dict[str, str | None]:
    """What the broken tree changes of the pristine one."""
    return dict(broken.edits)


def both_texts(tree: Path, broken: BrokenTree | RepoTask) -> dict[str, tuple[str, str]]:
    """Path -> its text in the whole and in the broken tree, of files that differ; an absent file is
    an empty text.
    """
    found = dict[str, tuple[str, str]]()
    for path in sorted({*broken.edits, *broken.solution}):
        pristine = tree / path
        text = pristine.read_bytes().decode() if pristine.is_file() else ""
        before = broken.solution.get(path, text)
        after = broken.edits.get(path, text)
        if before != (after or ""):
            found[path] = before, after or ""
    return found


def as_seen(texts: Mapping[str, str | None], tests: Mapping[str, str]) -> dict[str, str | None]:
    """A tree whose tests are those of the check, whatever it did to them."""
    return {**texts, **tests}
