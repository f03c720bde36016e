"""What holds the house up: imports go down the list, files stay short, names say what they hold."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN_WORDS = {"util", "utils", "helper", "helpers", "common", "misc", "base", "manager", "processor", "handler"}
HEAVY = {"torch", "transformers", "vllm", "prefect", "datasets", "sentence_transformers", "playwright"}

MAY_IMPORT = {
    "schemas": {"schemas"},
    "synth": {"schemas", "synth"},
    "envs": {"schemas", "synth", "envs"},
    "filters": {"schemas", "synth", "filters"},
    "synthesizers": {"schemas", "synth", "envs", "filters", "synthesizers"},
    "flows": {"schemas", "synth", "envs", "filters", "synthesizers", "flows"},
    "synth.cli": {"schemas", "synth", "envs", "filters", "synthesizers", "flows", "synth.cli"},
}


def sources() -> list[Path]:
    return [path for layer in MAY_IMPORT if "." not in layer for path in sorted((ROOT / layer).rglob("*.py"))]


def layer_of(module: str) -> str:
    return "synth.cli" if module == "synth.cli" or module.startswith("synth.cli.") else module.split(".")[0]


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """(module, whether the import runs when the file is imported)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(ast.iter_child_nodes(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or "", node in top


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_only_go_down_the_list(path: Path) -> None:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    allowed = MAY_IMPORT[layer_of(module)]
    ours = {name for name, _ in imports(path) if layer_of(name) in MAY_IMPORT}
    assert not {name for name in ours if layer_of(name) not in allowed}


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_heavy_packages_are_imported_where_they_are_used(path: Path) -> None:
    assert not {name for name, at_import in imports(path) if at_import and name.split(".")[0] in HEAVY}


def test_a_planted_upward_import_is_caught(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text("from flows.resolve import resolve\n")
    assert [layer_of(name) in MAY_IMPORT["synth"] for name, _ in imports(planted)] == [False]


def test_no_file_is_longer_than_300_lines() -> None:
    everything = [*sources(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    assert {str(p.relative_to(ROOT)): n for p in everything if (n := len(p.read_text().splitlines())) > 300} == {}


def test_no_file_is_named_after_nothing() -> None:
    assert [str(p) for p in sources() if FORBIDDEN_WORDS & set(p.stem.lower().split("_"))] == []


def test_flow_and_task_decorators_live_in_flows_only() -> None:
    assert {
        name for path in sources() for name, _ in imports(path) if name.split(".")[0] == "prefect" and "flows" not in path.parts
    } == set()


def test_exceptions_are_caught_blindly_in_one_file_of_the_engine_only() -> None:
    blind = [str(p.relative_to(ROOT)) for p in sources() if re.search(r"except \(?Exception\b", p.read_text())]
    assert [name for name in blind if not name.startswith("envs/conformance/")] == ["synth/boundary.py"]


def test_help_needs_no_heavy_import() -> None:
    code = "import sys, synth.cli.main; print([m for m in sys.modules if m.split('.')[0] in {!r}])".format(
        sorted(HEAVY | {"pyarrow", "duckdb", "openai", "pydantic"}),
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
