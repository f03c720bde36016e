"""How much house there is: tokens of each floor, long functions and files, full folders, circles of
rooms, classes of the same name.

Run: `python -m benchmarks.house`; `--check` fails where it is more than tests/house.json says
(`make lint`), `--record` writes that file.
"""

import ast
import io
import json
import sys
import tokenize
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "tests" / "house.json"
TOPS = ("schemas", "synth", "envs", "filters", "synthesizers", "flows")
LONG_FUNCTION, LONG_FILE, COLUMNS = 40, 300, 100
LARGE_FUNCTION, LARGE_FILE, FULL_FOLDER = 250, 1800, 12
"""Tokens, tokens, files."""
PYTHON = (*TOPS, "tests", "benchmarks", "supply")
APART = ("synth.envs.sql", "synth.envs.repo")
"""Environments that came after the redesign, and are counted apart: the files of a room, without
its `__init__`.
"""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def sources(root: Path = ROOT) -> list[Path]:
    """Every file of the product, sorted."""
    return [path for top in TOPS for path in sorted((root / top).rglob("*.py"))]


def everything(root: Path = ROOT) -> list[Path]:
    """Every file of Python: the product, its tests and its measurements."""
    return [path for top in PYTHON for path in sorted((root / top).rglob("*.py"))]


def token_lines(text: str) -> list[int]:
    """The line of each token of Python, without comments, line ends and indentation; a docstring is
    one.
    """
    read = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.start[0] for token in read if token.type not in _SILENT]


def tokens(text: str) -> int:
    """How many tokens of Python a text has (`token_lines`)."""
    return len(token_lines(text))


def module_of(path: Path, root: Path = ROOT) -> str:
    """The name that a file is imported by: what stands in a top folder is installed inside
    `synth`.
    """
    name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
    return name if name.partition(".")[0] == "synth" else f"synth.{name}"


def top_of(module: str) -> str:
    """The top folder of a module of ours, `synth` for what stands in that one; empty for all
    others.
    """
    first, _, rest = module.partition(".")
    second = rest.partition(".")[0]
    return "" if first != "synth" else second if second in TOPS else "synth"


def room_of(module: str) -> str:
    """The folder that a module stands in; a file directly under a top folder is a room of its
    own.
    """
    return ".".join(module.split(".")[: 2 if top_of(module) in {"", "synth"} else 3])


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements within a node: a tenth of what `ast.walk` goes through."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, part, ())
        for one in inner if isinstance(inner, list) else ():
            yield one
            yield from statements(one)


def imported(tree: ast.AST) -> Iterator[str]:
    """Modules that a file imports, wherever in it."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def circles(texts: dict[str, str]) -> list[list[str]]:
    """Rooms that import each other round about, the largest circle first."""
    rooms = {room_of(module) for module in texts}
    graph: Any = nx.DiGraph()
    for module, text in texts.items():
        for name in imported(ast.parse(text)):
            other = room_of(name)
            if other in rooms and other != room_of(module):
                graph.add_edge(room_of(module), other)
    found = [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    return sorted(found, key=lambda part: (-len(part), part))


def large_functions(text: str) -> int:
    """How many functions of a file have more than `LARGE_FUNCTION` tokens, decorators aside."""
    lines = token_lines(text)
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, FUNCTIONS))
    return sum(
        bisect_right(lines, node.end_lineno or 0) - bisect_left(lines, node.lineno) > LARGE_FUNCTION
        for node in functions
    )


def floor_of(module: str) -> str:
    """The top folder or the folder of `synth` that a module stands in."""
    return ".".join(module.split(".")[:2])


def texts_of(root: Path = ROOT) -> dict[str, str]:
    """The product's modules and what they say, with the list of names beside one (`.pyi`)."""
    texts = {}
    for path in sources(root):
        stub = path.with_suffix(".pyi")
        names = stub.read_text(encoding="utf-8") if stub.exists() else ""
        texts[module_of(path, root)] = path.read_text(encoding="utf-8") + names
    return texts


def measured(root: Path = ROOT) -> dict[str, Any]:
    """All figures by name."""
    texts = texts_of(root)
    sizes = {module: tokens(text) for module, text in texts.items()}
    apart = {
        f"tokens of {room}": sum(
            size for module, size in sizes.items() if module.startswith(f"{room}.")
        )
        for room in APART
    }
    floors: Counter[str] = Counter()
    for module, size in sizes.items():
        floors[floor_of(module)] += size

    every = sum(sizes.values())
    return {
        "tokens": every - sum(apart.values()),
        **apart,
        "files": len(texts),
        **shapes(texts, [path.parent for path in sources(root) if path.stem != "__init__"]),
        **widths([path.read_text(encoding="utf-8").splitlines() for path in everything(root)]),
        "tokens a line": round(every / sum(text.count("\n") for text in texts.values()), 2),
        "circles": circles(texts),
        "floors": dict(sorted(floors.items())),
    }


def shapes(texts: dict[str, str], folders: list[Path]) -> dict[str, int]:
    """What is longer, larger, fuller or named oftener than it should be, of the product alone."""
    nodes = [node for text in texts.values() for node in ast.walk(ast.parse(text))]
    return {
        f"functions of more than {LONG_FUNCTION} lines": sum(
            (node.end_lineno or 0) - node.lineno >= LONG_FUNCTION
            for node in nodes
            if isinstance(node, FUNCTIONS)
        ),
        f"functions of more than {LARGE_FUNCTION} tokens": sum(
            map(large_functions, texts.values())
        ),
        f"files of more than {LARGE_FILE} tokens": sum(
            tokens(text) > LARGE_FILE for text in texts.values()
        ),
        f"folders of more than {FULL_FOLDER} files": len(full_folders(folders)),
        "names of several classes": len(named_twice(texts)),
    }


def full_folders(folders: list[Path]) -> list[str]:
    """Folders of too many files, but for those that hold a file for each part of a registry."""
    counted = Counter(folder for folder in folders if not (folder / "registry.py").exists())
    return sorted(str(folder) for folder, files in counted.items() if files > FULL_FOLDER)


def named_twice(texts: dict[str, str]) -> dict[str, list[str]]:
    """Names of classes that several modules define, and these modules."""
    found: dict[str, list[str]] = {}
    for module, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module)
    return {name: modules for name, modules in sorted(found.items()) if len(modules) > 1}


def widths(lines: list[list[str]]) -> dict[str, int]:
    """Files that are too long and lines that are too wide, tests and measurements too."""
    return {
        f"files of more than {LONG_FILE} lines": sum(len(text) > LONG_FILE for text in lines),
        f"lines of more than {COLUMNS} columns": sum(
            len(line) > COLUMNS for text in lines for line in text
        ),
    }


def grown(found: dict[str, Any], recorded: dict[str, Any]) -> list[str]:
    """What is more than was recorded, a line each: a number by over two in a thousand, a floor by
    over two in a hundred, or a circle that is part of no known one.
    """
    more = [
        f"{name}: {n}, recorded {recorded[name]}"
        for name, n in found.items()
        if isinstance(n, int) and n > 1.002 * recorded[name]
    ]
    new = [
        circle
        for circle in found["circles"]
        if not any(set(circle) <= set(known) for known in recorded["circles"])
    ]
    floors = [
        f"{floor}: {n} tokens, recorded {recorded['floors'].get(floor, 0)}"
        for floor, n in found["floors"].items()
        if n > 1.02 * recorded["floors"].get(floor, 0)
    ]
    return more + floors + [f"a circle: {', '.join(circle)}" for circle in new]


def main(arguments: list[str]) -> int:
    """Prints the figures, records them, or says what has grown (exit 1)."""
    found = measured()
    if arguments == ["--check"]:
        more = grown(found, json.loads(RECORDED.read_text(encoding="utf-8")))
        if any(line.startswith("names of") for line in more):
            more += [
                f"{name}: {', '.join(where)}" for name, where in named_twice(texts_of()).items()
            ]
        print(
            "\n".join(
                [
                    *more,
                    "the house has grown: take something out, or record it with --record and say "
                    "why",
                ]
            )
            if more
            else "no larger"
        )
        return 1 if more else 0
    print(json.dumps(found, indent=1))
    if arguments == ["--record"]:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
