"""Code without what does not show when it runs."""

import ast
from functools import lru_cache
from typing import Any

from synth.envs.repo.source.text import DEFINITIONS


@lru_cache(maxsize=8)
def behaviour(code: str) -> str:
    """The syntax tree as a text that is the same for two programs that do the same as far as syntax
    tells: without documentation, annotations and lists of what a module exports. Fields of a
    class stay, whatever their types. Raises `SyntaxError` or `ValueError`.
    """
    return ast.dump(_Bare().visit(ast.parse(code)))


class _Bare(ast.NodeTransformer):
    """Takes out of a tree what does not show."""

    def visit(self, node: ast.AST) -> Any:
        """A node without annotations; None for a list of names that a module exports."""
        if exports(node):
            return None
        if isinstance(node, (ast.Module, *DEFINITIONS)):
            node.body = _undocumented(node.body)
        if getattr(node, "annotation", None) is not None:
            node.annotation = ast.Constant(None)  # type: ignore[attr-defined]
        if getattr(node, "returns", None) is not None:
            node.returns = None  # type: ignore[attr-defined]

        return self.generic_visit(node)


def _undocumented(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without the text that stands first."""
    first = body[0] if body else None
    value = first.value if isinstance(first, ast.Expr) else None
    is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)

    return body[1:] if is_text else body


def exports(node: ast.AST) -> bool:
    """Whether a statement lists what a module exports."""
    targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]

    return any(isinstance(one, ast.Name) and one.id == "__all__" for one in targets)
