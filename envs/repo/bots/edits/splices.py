"""Small edits of Python source that undo small bugs: one operator, one argument, one number."""

import ast

import msgspec

from synth.envs.repo.bots.edits.operators import edits_of
from synth.envs.repo.source.text import Edit, SourceFile

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
    edit: Edit

    @property
    def rank(self) -> int:
        """How many operators are likelier."""
        return LIKELY.index(self.operator) if self.operator in LIKELY else len(LIKELY)

    def applied(self, source: SourceFile) -> str | None:
        """The file with this edit; None where Python cannot read it, or it is as it was."""
        after = source.edited(self.edit)
        return None if after is None or after.text == source.text else after.text


def small_edits(source: SourceFile) -> list[SmallEdit]:
    """All edits of a file, line by line, the likely ones first on each."""
    found = [
        SmallEdit(operator, node.lineno, edit)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.expr | ast.stmt)
        for operator, edit in edits_of(node, source)
    ]
    return sorted(found, key=lambda one: (one.line, one.rank, one.edit.start))
