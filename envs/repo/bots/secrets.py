"""What no observation of a task may show: lines that stand in its hidden tests alone."""

from functools import lru_cache
from pathlib import Path

from synth.envs.repo.task_tree import TaskTree

SHORTEST = 24
"""Letters of a line that tells a file: shorter ones are written twice by chance."""


def secrets(place: TaskTree) -> tuple[str, ...]:
    """The lines of hidden tests that stand nowhere in the tree that the agent has."""
    hidden = place.task.hidden
    if not hidden:
        return ()

    shown = _lines(place.base)
    gone = {path for path in place.task.edits}
    seen = frozenset(
        line for path, lines in shown.items() if path not in gone for line in lines
    ) | frozenset(_of("\n".join(text or "" for text in place.task.edits.values())))

    goal = place.task.goal
    found = dict.fromkeys(line for text in hidden.values() for line in _of(text))

    return tuple(line for line in found if line not in seen and line not in goal)


@lru_cache(maxsize=16)
def _lines(base: Path) -> dict[str, frozenset[str]]:
    """The long lines of a tree's files, by path."""
    found = dict[str, frozenset[str]]()
    for path in sorted(base.rglob("*")):
        if path.is_file() and not path.is_symlink():
            text = path.read_text(encoding="utf-8", errors="replace")
            found[str(path.relative_to(base))] = frozenset(_of(text))

    return found


def _of(text: str) -> list[str]:
    """The lines of a text that are long enough, without what stands around them."""
    return [line for raw in text.splitlines() if len(line := raw.strip()) >= SHORTEST]
