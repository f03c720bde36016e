"""Files beside the tables that a run keeps up to date (flow.yaml, cost.json): derived, replaced as a whole where they differ."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from synth.ledger.storage import Storage, write_error


def write_report_file(storage: Storage, name: str, content: Any) -> None:
    """Writes text as it is, anything else as JSON; a reader sees the old file or the new one. Raises `SynthError`."""
    text = content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
    with contextlib.suppress(FileNotFoundError):
        if storage.read(name) == text.encode():
            return
    if not storage.local:
        storage.fs.pipe_file(f"{storage.root}/{name}", text.encode())
        return
    target = Path(storage.root, name)
    temporary = target.with_name(f".{name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    except OSError as error:
        raise write_error(str(target), error) from error
