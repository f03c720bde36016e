"""Records of research."""

import json
from pathlib import Path
from typing import Any

from synth.importers.records import Imported, Rejection
from tests.synth.importers.imports import imported


def load(
    tmp_path: Path, value: Any, name: str = "x.json"
) -> tuple[list[Imported], list[Rejection]]:
    path = tmp_path / name
    path.write_text(json.dumps(value))
    found = list(imported([path]))
    return [f for f in found if isinstance(f, Imported)], [
        f for f in found if isinstance(f, Rejection)
    ]


def node(kind: str, text: str, *children: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"node_type": kind, "description": text, "children": list(children), **fields}


def call(name: str, code: int, *children: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return node(
        "Action",
        name,
        node("Action Input", "{}", *children, observation="o", observation_code=code, **fields),
    )
