"""Fingerprints of public benchmarks: `python -m benchmarks.known_sets TAU TAU2 WHO_AND_WHEN` reads
checkouts of their repositories and writes `synth/importers/identity/known.tsv`.

Only hashes are written: no text of anybody's.
"""

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from synth.importers.identity.sketch import sketch

TARGET = Path(__file__).resolve().parents[1] / "synth/importers/identity/known.tsv"
Text = tuple[str, str, str]


def tau_bench(root: Path) -> Iterator[Text]:
    """Instructions of the test and dev tasks, and the policies."""
    for domain in ("airline", "retail"):
        folder, name = root / "tau_bench/envs" / domain, f"tau-bench/{domain}"
        for path in sorted(folder.glob("tasks*.py")):
            if path.stem == "tasks_train":
                continue
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                told = _instruction(node)
                if told:
                    yield name, "task", told
        yield name, "policy", (folder / "wiki.md").read_text("utf-8")


def _instruction(node: ast.AST) -> str | None:
    """The instruction that an object or a call states."""
    held: ast.AST | None = None
    if isinstance(node, ast.keyword) and node.arg == "instruction":
        held = node.value
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "instruction":
                held = value
    return held.value if isinstance(held, ast.Constant) and isinstance(held.value, str) else None


def tau2_bench(root: Path) -> Iterator[Text]:
    """What users are told in the tasks of each domain, and the policies."""
    for folder in sorted((root / "data/tau2/domains").iterdir()):
        name = f"tau2-bench/{folder.name}"
        if folder.name == "mock":
            continue
        for path in sorted(folder.rglob("tasks*.json")):
            found = json.loads(path.read_text("utf-8"))
            for task in found if isinstance(found, list) else []:
                told = (task.get("user_scenario") or {}).get("instructions")
                yield name, "task", told_text(told)
        for path in sorted(folder.glob("*policy*.md")):
            yield name, "policy", path.read_text("utf-8")


def told_text(told: object) -> str:
    """Instructions as one text: their parts in a fixed order."""
    from synth.importers.research.tau2_task import instructions_text

    return instructions_text(told)


def who_and_when(root: Path) -> Iterator[Text]:
    """The questions."""
    names = {"Algorithm-Generated": "algorithm-generated", "Hand-Crafted": "hand-crafted"}
    for folder, name in names.items():
        for path in sorted((root / "Who&When" / folder).glob("*.json")):
            question = json.loads(path.read_text("utf-8")).get("question")
            if isinstance(question, str):
                yield f"who-and-when/{name}", "task", question


def main(arguments: list[str]) -> None:
    """Writes the table."""
    tau, tau2, failures = map(Path, arguments)
    texts = [*tau_bench(tau), *tau2_bench(tau2), *who_and_when(failures)]
    lines = {f"{name}\t{kind}\t{' '.join(sketch(text))}" for name, kind, text in texts if text}
    TARGET.write_text("\n".join(sorted(lines)) + "\n", "ascii")
    print(f"{len(texts)} texts, {len(lines)} sketches, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
