"""Small edits of Python source that undo small bugs: one operator, one argument, one number.

An edit replaces bytes of the source and leaves all others as they are, so that it is as small as
the bug was.
"""

import ast
from collections.abc import Iterator

import msgspec

from synth.envs.repo.bots.operators import edits_of
from synth.envs.repo.text import Text, is_readable

LIKELY = (
    "comparison",
    "arguments",
    "number",
    "negation",
    "arithmetic",
    "junction",
    "branches",
    "operands",
    "truth value",
    "sign",
    "name",
)
"""Operators in the order in which a bot tries them on one line; all others come after."""


class Splice(msgspec.Struct, frozen=True):
    """One edit: `line` is where the changed expression begins."""

    operator: str
    line: int
    start: int
    end: int
    text: bytes

    def applied(self, source: bytes) -> bytes:
        """The source with this edit."""
        return source[: self.start] + self.text + source[self.end :]


def splices(source: bytes) -> Iterator[Splice]:
    """All edits of a file that leave it readable, none twice, line by line."""
    seen = {source}
    for splice in sorted(_every(source), key=_place):
        after = splice.applied(source)
        if after not in seen and is_readable(after):
            seen.add(after)
            yield splice


def _every(source: bytes) -> Iterator[Splice]:
    """The edits of all nodes."""
    if not is_readable(source):
        return

    text = Text(source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.expr | ast.stmt):
            for operator, start, end, new in edits_of(node, text):
                yield Splice(operator, node.lineno, start, end, new)


def _place(splice: Splice) -> tuple[int, int, int]:
    rank = LIKELY.index(splice.operator) if splice.operator in LIKELY else len(LIKELY)
    return splice.line, rank, splice.start
