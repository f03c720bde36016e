"""Looks at files and edits of them, by paths from the root of the tree."""

import posixpath

from synth.envs.repo.repair.hunks import occurs_once
from synth.envs.repo.terminal.observed import numbered


class CannotError(Exception):
    """A tool cannot do what it was asked; the message is for the agent."""


def inside(path: str) -> str:
    """A path from the root of the tree. Raises `CannotError` for one that leads out of it."""
    whole = posixpath.normpath(posixpath.join("/repo", path.strip()))
    if whole != "/repo" and not whole.startswith("/repo/"):
        raise CannotError(f"{path[:200]}: lies outside of /repo.")

    return posixpath.relpath(whole, "/repo")


def text_of(path: str, data: bytes) -> str:
    """A file's text. Raises `CannotError` for what is none."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"

    if "\0" in text:
        raise CannotError(f"{path}: is no text.")

    return text


def shown_lines(path: str, text: str, lines: str | None) -> str:
    """The lines that were asked for, numbered. Raises `CannotError`."""
    count = len(text.splitlines())
    first, last = _range(lines, count)
    found = "\n".join(numbered(text, first, last))
    more = count - last
    rest = f"\n({more} more {'line' if more == 1 else 'lines'})" if more > 0 else ""

    return (found or f"{path} is empty.") + rest


def _range(lines: str | None, count: int) -> tuple[int, int]:
    """First and last line. Raises `CannotError` for what names none."""
    if lines is None or not lines.strip():
        return 1, count

    first, _, last = lines.strip().partition("-")
    numbers = [part.strip() for part in (first, last or first)]
    if not all(part.isascii() and part.isdigit() and len(part) < 9 for part in numbers):
        raise CannotError("`lines` names lines as `20-60`, or one as `20`.")

    start, end = map(int, numbers)
    if not 1 <= start <= max(count, 1) or end < start:
        raise CannotError(f"There are lines 1 to {count}; `{lines.strip()}` names none of them.")

    return start, min(end, count)


def replaced(path: str, text: str | None, old: str, new: str) -> tuple[str, str]:
    """(the text with one place replaced, what the agent is told). Raises `CannotError`."""
    if not old:
        if text:
            raise CannotError(f"{path} is there already: `old` must be a text that stands in it.")
        return new, f"{path} is written."

    if text is None:
        raise CannotError(f"There is no file {path}.")

    if not occurs_once(old, text):
        times = text.count(old)
        how = f"{times} times: take more lines around it" if times else "nowhere"
        raise CannotError(f"`old` occurs in {path} {how}.")

    if old == new:
        raise CannotError("`old` and `new` are the same.")

    place = text.index(old)
    line = text.count("\n", 0, place) + 1
    changed = text[:place] + new + text[place + len(old) :]
    last = line + new.count("\n")
    around = "\n".join(numbered(changed, max(line - 2, 1), min(last + 2, line + 30)))

    return changed, f"{path} is changed:\n{around}"
