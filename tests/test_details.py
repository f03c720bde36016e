"""`detail` is for people: outside the ledger no code reads a key of it, in Python or in SQL."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("schemas", "synth", "envs", "filters", "synthesizers", "flows", "benchmarks")
IN_SQL = re.compile(r"\bdetail\s*->|\bjson_\w+\(\s*(\w+\.)?detail\b")
READING = ("get", "pop", "keys", "values", "items")
DECODING = ("decode", "loads", "convert")


def readers(text: str) -> Iterator[int]:
    """The lines that read what a detail holds."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            read = IN_SQL.search(node.value) is not None
        elif isinstance(node, ast.Subscript):
            of_text = isinstance(node.slice, ast.Slice) or not isinstance(node.ctx, ast.Load)
            read = _is_detail(node.value) and not of_text
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            own = node.func.attr in READING and _is_detail(node.func.value)
            read = own or (node.func.attr in DECODING and any(map(_is_detail, node.args)))
        elif isinstance(node, ast.Compare):
            inside = isinstance(node.ops[0], ast.In | ast.NotIn)
            read = inside and _is_detail(node.comparators[0])
        else:
            read = False
        if read:
            yield node.lineno


def _is_detail(node: ast.expr) -> bool:
    """`detail`, `x.detail`, and these with something in place of None."""
    if isinstance(node, ast.BoolOp):
        return any(map(_is_detail, node.values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return any(map(_is_detail, node.args))
    name = getattr(node, "id", getattr(node, "attr", None))
    return name == "detail"


def _files() -> list[Path]:
    found = (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    return [path for path in found if (ROOT / "synth/ledger") not in path.parents]


@pytest.mark.slow
def test_no_code_outside_the_ledger_reads_a_detail() -> None:
    files = _files()
    assert len(files) > 500
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in files
        for line in readers(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "planted",
    [
        "score.detail['key']",
        "(score.detail or {}).get('key')",
        "dict(row.detail)['key']",
        "'key' in (one.detail or {})",
        "json.loads(detail)['key']",
        "msgspec.convert(row.detail, Kind)",
        "connection.execute(\"SELECT detail->>'$.key' FROM scores\")",
        "sql = f\"SELECT json_extract_string(s.detail, '$.{key}') FROM scores s\"",
    ],
)
def test_a_planted_reader_is_found(planted: str) -> None:
    assert set(readers(f"def f(x):\n    return x\n{planted}\n")) == {3}


def test_what_only_writes_or_hands_on_a_detail_is_no_reader() -> None:
    written = "Score(subject, 'm', 1.0, detail={'key': 1})\nrow = (one.metric, one.detail)\n"
    assert list(readers(written)) == []
