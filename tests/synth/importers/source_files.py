"""Files with records, as they are and packed."""

import json
from pathlib import Path
from typing import Any

from synth.importers.records import Imported, Rejection
from tests.synth.importers.imports import imported


def chat(question: str) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": question}, {"role": "assistant", "content": "ok"}]
    }


LINES = [json.dumps(chat(q)) for q in "abc"]


def write(folder: Path, name: str, blob: bytes | str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(blob.encode() if isinstance(blob, str) else blob)
    return path


def load(*sources: Path, format: str = "auto") -> tuple[list[Imported], list[Rejection]]:
    found = list(imported(sources, format=format))
    return [f for f in found if isinstance(f, Imported)], [
        f for f in found if isinstance(f, Rejection)
    ]


def outcome_of(folder: Path, blob: bytes | str) -> tuple[int, list[tuple[str, str]]]:
    """(trajectories that came in, (locator, reason) of the rest)"""
    good, bad = load(write(folder, "x", blob))
    return len(good), [(b.locator, b.reason) for b in bad]
