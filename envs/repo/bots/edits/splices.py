"""Small edits of Python source that undo small bugs: one operator, one argument, one number."""

import ast

import msgspec

from synth.envs.repo.bots.edits.operators import edits_of
from synth.envs.repo.making.sites.splice import SourceText, Splice

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
    "pair",
    "bound",
    "operand left out",
)
"""Operators in the order in which a bot tries them; all others come after."""


class SmallEdit(msgspec.Struct, frozen=True):
    """One edit: `line` is where the changed expression begins."""

    operator: str
    line: int
    splice: Splice

    @property
    def rank(self) -> int:
        """How many operators are likelier."""
        return LIKELY.index(self.operator) if self.operator in LIKELY else len(LIKELY)

    def applied(self, source: SourceText) -> str | None:
        """The file with this edit; None where Python cannot read it, or it is as it was."""
        one = self.splice
        after = source.content[: one.start] + one.text + source.content[one.end :]
        try:
            ast.parse(after)
        except (SyntaxError, ValueError, RecursionError):
            return None
        return None if after == source.content else after.decode()


def small_edits(source: SourceText) -> list[SmallEdit]:
    """All edits of a file, line by line, the likely ones first on each."""
    found = [
        SmallEdit(operator, node.lineno, splice)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.expr | ast.stmt)
        for operator, splice in edits_of(node, source)
    ]
    return sorted(found, key=lambda one: (one.line, one.rank, one.splice.start))
