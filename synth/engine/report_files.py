"""Files of a run that are replaced every few seconds (heartbeats), and named by no line of its
manifest.
"""

import contextlib
import json
from typing import Any

from synth.ledger.storage import Storage


def write_report_file(storage: Storage, name: str, content: Any) -> None:
    """Writes text as it is, anything else as JSON; a reader sees the old file or the new one.
    Raises `SynthError`.
    """
    text = content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
    with contextlib.suppress(FileNotFoundError):
        if storage.read(name) == text.encode():
            return
    storage.replace(name, text.encode())
