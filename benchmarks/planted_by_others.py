"""Secrets planted by eleven authors who saw no rule of ours, 20 kinds each, ten of a kind in
context: how many are found whole.

Run: `python -m benchmarks.planted_by_others`

Each set was scored once before anybody looked at it; the rules were then mended by what they had
missed in it. What the first looks
gave stands in docs/filters.md; this gives what the rules find now, which is no held-out figure any
more.
"""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from synth.text.secrets.finder import Finder

PLANTED = Path(__file__).with_suffix(".jsonl.gz")
MOST_LEFT = 5
"""Characters of a secret in a row that may be left: a prefix, a sign at its end."""
ENOUGH = 9


def planted() -> Iterator[tuple[int, str, str, str]]:
    """(set, kind, text, secret)."""
    for line in gzip.decompress(PLANTED.read_bytes()).decode().splitlines():
        row = json.loads(line)
        yield row["set"], row["kind"], row["text"], row["secret"]


def is_found(finder: Finder, text: str, secret: str) -> bool:
    """Whether no more than `MOST_LEFT` characters of a secret are left in a row, wherever it
    stands.
    """
    hidden = bytearray(len(text))
    for span in finder.found(text):
        hidden[span.start : span.end] = b"\1" * (span.end - span.start)
    at = text.find(secret)
    while at >= 0:
        if max(map(len, bytes(hidden[at : at + len(secret)]).split(b"\1"))) > min(
            MOST_LEFT, len(secret) - 1
        ):
            return False
        at = text.find(secret, at + 1)
    return True


def measure() -> Report:
    """Kinds of each set of which nine of ten are found."""
    finder = Finder()
    found: dict[tuple[int, str], int] = {}
    for number, kind, text, secret in planted():
        found[number, kind] = found.get((number, kind), 0) + is_found(finder, text, secret)
    for (number, kind), times in found.items():
        if times < ENOUGH:
            print(f"set {number}, {kind}: {times} of 10")
    figures = []
    for number in sorted({number for number, _ in found}):
        kinds = [times for (of, _), times in found.items() if of == number]
        whole = sum(times >= ENOUGH for times in kinds)
        figures.append(
            Figure(
                f"set {number}: kinds with 9 of 10 or more, of {len(kinds)}",
                whole,
                "",
                Target("at least", 17),
            )
        )
    return Report(
        "Secrets planted by others",
        tuple(figures),
        "Ten of a kind; found: no more than five characters in a row are left.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
