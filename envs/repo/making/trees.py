"""What a broken tree, the whole one and the check's differ by from the pristine one, as texts."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.making.layout import matches
from synth.envs.repo.pool import RepoTask

Texts = Mapping[str, str | None]
"""Path -> its text; None where it is gone."""


def whole_texts(broken: BrokenTree | RepoTask) -> Texts:
    """The whole tree with the hidden tests, against the pristine one."""
    return {**broken.solution, **broken.hidden}


def checked_texts(broken: BrokenTree | RepoTask, protected: Sequence[str]) -> Texts:
    """The broken tree as the check sees it: tests and configuration are those of the whole one, and
    the hidden tests are there.
    """
    edited = {path: text for path, text in broken.edits.items() if not matches(path, protected)}
    kept = {path: text for path, text in broken.solution.items() if matches(path, protected)}
    return {**edited, **kept, **broken.hidden}


def both_texts(tree: Path, broken: BrokenTree | RepoTask) -> dict[str, tuple[str, str]]:
    """Path -> its text in the whole and in the broken tree, of files that differ; a file that is
    not there is an empty text.
    """
    found = dict[str, tuple[str, str]]()
    for path in sorted({*broken.edits, *broken.solution}):
        text = text_of(tree / path)
        whole = broken.solution.get(path, text)
        seen = broken.edits.get(path, text) or ""
        if whole != seen:
            found[path] = whole, seen
    return found


def text_of(place: Path) -> str:
    """A file's text, with the line ends that it has; nothing where it is no text."""
    try:
        return place.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return ""
