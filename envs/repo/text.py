"""Source as bytes, by the places of its syntax tree's nodes (whose columns count bytes)."""

import ast

Node = ast.expr | ast.stmt


class Text:
    """A file's bytes."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self._starts = [0]
        for line in source.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def start(self, node: Node) -> int:
        """The first byte of a node."""
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: Node) -> int:
        """The byte after a node's last."""
        return self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def of(self, node: Node) -> bytes:
        """A node as it is written."""
        return self.source[self.start(node) : self.end(node)]

    def between(self, left: Node, right: Node, token: str) -> tuple[int, int] | None:
        """Where a token stands between two nodes."""
        at = self.source.find(token.encode(), self.end(left), self.start(right))
        return None if at < 0 else (at, at + len(token))


def is_readable(source: bytes) -> bool:
    """Whether Python can read a file."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False

    return True
