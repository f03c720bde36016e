"""What an agent sees of a command's output: text without control characters, cut in the middle,
with times and addresses that are the same in every run.
"""

import re
from collections.abc import Iterator
from functools import cache

from synth.envs.data_file import data_file

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@cache
def _rules() -> list[tuple[re.Pattern[str], str]]:
    """What differs from run to run, and what stands in its place."""
    return [(re.compile(sought), to) for sought, to in data_file("repo/output")]


def steady(text: str) -> str:
    """A text without what differs from run to run."""
    for pattern, to in _rules():
        text = pattern.sub(to, text)

    return text


def observed(output: bytes, most: int) -> str:
    """A command's output as an agent sees it."""
    text = output.decode("utf-8", "replace").replace("\r\n", "\n")
    plain = _CONTROLS.sub("\ufffd", _ESCAPES.sub("", text))
    return cut(steady(plain), most)


def cut(text: str, most: int) -> str:
    """A text of at most so many characters, the middle left out by whole lines where there are."""
    if len(text) <= most:
        return text

    half = most // 2
    head, tail = text[:half], text[-half:]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    gone = text[len(head) : len(text) - len(tail)]
    counted = f"{gone.count(chr(10))} lines" if "\n" in gone else f"{len(gone)} characters"

    return f"{head}[... {counted} left out ...]\n{tail}"


def numbered(text: str, first: int = 1, last: int | None = None) -> Iterator[str]:
    """The lines of a text, from `first` to `last`, each after its number."""
    for at, line in enumerate(text.splitlines()[first - 1 : last], first):
        yield f"{at:>5}  {line}"
