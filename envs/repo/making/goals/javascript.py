"""The statement of a test of JavaScript that failed, as its source says it."""

from synth.envs.repo.kinds.javascript.parsed import EsNode, parse
from synth.envs.repo.making.goals.statements import LONGEST, FailingStatement

_EQUAL = ("equal", "strictEqual", "deepEqual", "deepStrictEqual")


def javascript_statement_at(text: str, line: int) -> FailingStatement | None:
    """The smallest statement that a line stands in; None for one that is too long to be told."""
    tree = parse({"test": text}).get("test")
    if tree is None:
        return None
    starts = [0]
    for row in text.split("\n"):
        starts.append(starts[-1] + len(row) + 1)
    if not 0 < line < len(starts):
        return None
    first, last = starts[line - 1], starts[line] - 1
    around = [
        node
        for node in tree.walk()
        if node.type in ("ExpressionStatement", "VariableDeclaration")
        if node.start < last and node.end > first
    ]
    if not around:
        return None
    found = min(around, key=lambda one: one.end - one.start)
    said = _one_line(text, found)
    return None if len(said) > LONGEST else FailingStatement(said, *_call(text, found))


def _call(text: str, statement: EsNode) -> tuple[str, bool]:
    """The calling one of the two values of an assertion that they are equal."""
    call = statement.one("expression")
    callee = call.one("callee") if call is not None else None
    name = callee.one("property") if callee is not None else None
    if call is None or name is None or name.value("name") not in _EQUAL:
        return "", True
    both = call.many("arguments")[:2]
    calls = [any(one.type == "CallExpression" for one in side.walk()) for side in both]
    if len(both) < 2 or calls[0] == calls[1]:
        return "", True
    return _one_line(text, both[0] if calls[0] else both[1]), calls[0]


def _one_line(text: str, node: EsNode) -> str:
    return " ".join(text[node.start : node.end].split()).rstrip(";")
