"""What a dataset's own files have `datasets` read: its rows, which SHA256SUMS names, and nothing
elsewhere.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

from synth.ledger.storage import Storage
from synth.schemas.errors import SynthError

CARD = "README.md"
STEERING = (".huggingface.yaml", "dataset_infos.json")
"""What `datasets` reads beside the card, and synth never writes."""
_FRONT = re.compile(r"\s*---(?:\r\n|\r|\n)([\S\s]*?)(?:\r\n|\r|\n)---[ \t]*(?:\r\n|\n|$)")
"""The front matter of a card, as huggingface_hub finds it."""


def reaches_out(storage: Storage, sums: str) -> Iterator[str]:
    """A line for each thing in a dataset's folder that has `datasets` read, or run, what its sums
    do not name.
    """
    for name in (*STEERING, f"{Path(storage.root).name}.py"):
        if storage.size(name) is not None:
            yield (
                f"{storage.path(name)}: `datasets` would read or run it, and synth writes "
                "none; load nothing of this dataset"
            )
    try:
        configs = _configs(storage)
    except (UnicodeDecodeError, SynthError):
        yield (
            f"{storage.path(CARD)}: its front matter cannot be read, so nobody knows what "
            "would be loaded; load nothing of this dataset"
        )
        return
    for path in dict.fromkeys(_paths(configs)):
        if leads_out(path):
            yield (
                f"{storage.path(CARD)}: its configs name {path!r}, which no line of {sums} "
                "can; load nothing of this dataset"
            )


def leads_out(path: str) -> bool:
    """Whether a path or pattern may lead out of the folder, or to what is hidden in it and has no
    sum.

    Patterns whose parts begin with no dot find no hidden files, and all others have sums.
    """
    parts = path.split("/")
    return (
        path.startswith("/")
        or any(sign in path for sign in (":", "\\", "\0"))
        or any(part.startswith(".") and part != "." for part in parts)
    )


def _configs(storage: Storage) -> list[Any]:
    from synth.schemas.yaml_text import read_yaml

    if storage.size(CARD) is None:
        return []
    front = _FRONT.match(storage.read(CARD).decode())
    said = read_yaml(front[1], CARD) if front is not None else None
    configs = said.get("configs") if isinstance(said, dict) else None
    return configs if isinstance(configs, list) else [configs] if configs else []


def _paths(configs: list[Any]) -> Iterator[str]:
    for config in configs:
        if isinstance(config, dict):
            for key in ("data_files", "data_dir"):
                yield from texts_in(config.get(key))


def texts_in(value: Any) -> Iterator[str]:
    """Every text in it."""
    if isinstance(value, str | PurePath):
        yield str(value)
    elif isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_in(inner)
