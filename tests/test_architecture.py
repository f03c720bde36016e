"""What holds the house up: imports go down the list, files stay short, names say what they hold."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks import house
from benchmarks.house import module_of, sources, top_of
from tests.product_files import ROOT, parsed

FORBIDDEN_WORDS = {
    "util",
    "utils",
    "helper",
    "helpers",
    "common",
    "misc",
    "base",
    "manager",
    "processor",
    "handler",
}


HEAVY = {
    "torch",
    "transformers",
    "vllm",
    "prefect",
    "datasets",
    "sentence_transformers",
    "playwright",
}


LARGER = (
    "functions of more than 250 tokens",
    "files of more than 1800 tokens",
    "folders of more than 12 files",
)


FLOORS = (
    "synth.lazy_names",
    "schemas",
    # functions of numbers, of a process
    "synth.stats",
    "synth.loop_lag",
    "synth.nobodys_time",
    "synth.side_by_side",
    "synth.set_aside",
    "synth.confinement",
    # functions of what was said and done
    "synth.text",
    "synth.loss_turns",
    "synth.success_evidence",
    "synth.keys",
    "synth.boundary",
    "synth.branching",
    # what is asked, kept and played
    "synth.policies",
    "synth.ledger",
    "synth.topology",
    "synth.models",
    "synth.claims",
    "synth.rollout",
    "synth.engine",
    "synth.selection",
    # parts that users add to
    "envs",
    "filters",
    "synthesizers",
    "synth.importers",
    # what leaves
    "synth.datasets",
    "synth.pairs",
    "synth.exporters",
    "synth.rl",
    "synth.report",
    "synth.hub",
    "flows",
    # what users call: functions, their names, their commands
    "synth.api",
    "synth",
    "synth.cli",
)
"""The rooms, bottom to top: a room imports from itself and from those before it."""


def room_of(module: str) -> str:
    """The room of a module of ours, empty for all others: a top folder, or what stands in
    `synth`.
    """
    top = top_of(module)
    return ".".join(module.split(".")[:2]) if top == "synth" else top


def floor_of(room: str) -> int:
    return FLOORS.index(room)


@cache
def imports(path: Path) -> tuple[tuple[str, bool], ...]:
    """(module, whether the import runs when the file is imported)."""
    return tuple(_imports(path, parsed(path)))


def _imports(path: Path, tree: ast.Module) -> Iterator[tuple[str, bool]]:
    top = set(ast.iter_child_nodes(tree))
    for node in house.statements(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or "", node in top


def upward(root: Path, paths: list[Path]) -> dict[str, set[str]]:
    """Imports of ours that a file may not have, by file."""
    found = {}
    for path in paths:
        module = module_of(path, root)
        ours = {name for name, _ in imports(path) if top_of(name)}
        found[module] = {
            name for name in ours if floor_of(room_of(name)) > floor_of(room_of(module))
        }
    return {module: names for module, names in found.items() if names}


def heavy(paths: list[Path]) -> dict[str, set[str]]:
    """Heavy packages that are imported as a file is, by file."""
    found = {
        str(path): {
            name for name, at_import in imports(path) if at_import and name.split(".")[0] in HEAVY
        }
        for path in paths
    }
    return {path: names for path, names in found.items() if names}


def test_imports_only_go_down_the_list() -> None:
    assert upward(ROOT, sources()) == {}
    assert {room_of(module_of(path)) for path in sources()} == set(FLOORS)


def test_no_rooms_import_each_other_round_about() -> None:
    """Rooms are folders here: those inside the top folders too, and files that stand in these."""
    assert house.circles(house.texts_of()) == []


def test_heavy_packages_are_imported_where_they_are_used() -> None:
    assert heavy(sources()) == {}


def test_planted_faults_are_caught(tmp_path: Path) -> None:
    room = tmp_path / "synth" / "text"
    room.mkdir(parents=True)
    (room / "planted.py").write_text(
        "import torch\nfrom synth.flows.resolve import resolve\nfrom synth.report.html import "
        "page\n"
    )
    other = tmp_path / "synth" / "report"
    other.mkdir()
    (other / "html.py").write_text(
        "def page() -> None:\n    from synth.text import planted  # comment\n"
    )
    assert upward(tmp_path, [room / "planted.py"]) == {
        "synth.text.planted": {"synth.flows.resolve", "synth.report.html"}
    }
    assert list(heavy([room / "planted.py"]).values()) == [{"torch"}]
    found = house.measured(tmp_path)
    assert found["circles"] == [["synth.report", "synth.text"]]
    assert (found["files"], found["tokens"]) == (2, 2 + 8 + 8 + 7 + 6)
    assert house.grown(found, found | {"circles": []}) == ["a circle: synth.report, synth.text"]
    assert house.grown(found, found | {"tokens": 30}) == ["tokens: 31, recorded 30"]
    (other / "wide.py").write_text("\n" * 300 + f'_ = "{"a" * 95}"\n')
    grown = house.grown(house.measured(tmp_path), found)
    assert "files of more than 300 lines: 1, recorded 0" in grown
    assert "lines of more than 100 columns: 1, recorded 0" in grown
    assert "synth.report: 16 tokens, recorded 13" in grown


def test_a_large_function_a_large_file_and_a_full_folder_are_counted(tmp_path: Path) -> None:
    """`sums = [1, ..., 1]` has 3 tokens and 2 for each number; the head of the function has 7."""
    room = tmp_path / "synth" / "text"
    room.mkdir(parents=True)
    for at in range(13):
        (room / f"part_{at}.py").write_text("A = 1\n")
    before = house.measured(tmp_path)
    numbers = "1, " * 119 + "1"
    (room / "part_0.py").write_text(f"def sums() -> None:\n    sums = [{numbers}]\n")
    assert house.tokens((room / "part_0.py").read_text()) == 250
    assert house.measured(tmp_path)["functions of more than 250 tokens"] == 0

    (room / "part_0.py").write_text(f"def sums() -> None:\n    sums = [1, {numbers}]\n")
    (room / "part_1.py").write_text("A = 1\n" * 601)
    found = house.measured(tmp_path)
    assert [found[name] - before[name] for name in LARGER] == [1, 1, 0]
    (room / "part_2.py").unlink()
    assert before["folders of more than 12 files"] == 1
    assert house.measured(tmp_path)["folders of more than 12 files"] == 0


def test_no_file_is_named_after_nothing() -> None:
    assert [str(p) for p in sources() if FORBIDDEN_WORDS & set(p.stem.lower().split("_"))] == []


def test_flow_and_task_decorators_live_in_flows_only() -> None:
    assert {
        name
        for path in sources()
        if "flows" not in path.parts and "prefect" in path.read_text(encoding="utf-8")
        for name, _ in imports(path)
        if name.split(".")[0] == "prefect"
    } == set()


def test_exceptions_are_caught_blindly_in_one_file_of_the_engine_only() -> None:
    blind = [
        str(p.relative_to(ROOT))
        for p in sources()
        if re.search(r"except \(?Exception\b", p.read_text())
    ]
    apart = ("envs/conformance/", "envs/repo/making/inside/")  # the latter run in a box
    assert [name for name in blind if not name.startswith(apart)] == ["synth/boundary.py"]


def test_help_needs_no_heavy_import() -> None:
    code = (
        "import sys, synth.cli.main; print([m for m in sys.modules if m.split('.')[0] in {!r}])"
    ).format(
        sorted(HEAVY | {"pyarrow", "duckdb", "openai", "pydantic"}),
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
