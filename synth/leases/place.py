"""The place that a process works at: the state folder that it shares with all processes that see
its locks.
"""

import os
import uuid
from functools import lru_cache
from pathlib import Path

from synth.ledger.storage import access_error


@lru_cache(maxsize=64)
def place(journals: Path) -> str:
    """An id of a run's journals on this machine, drawn by the first process that asks. Raises
    `SynthError`.
    """
    path = journals / "place"
    drawn = journals / f".place-{uuid.uuid4().hex}"
    try:
        journals.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            drawn.write_text(uuid.uuid4().hex)
            try:
                os.link(drawn, path)
            except FileExistsError:
                pass
            finally:
                drawn.unlink()
        return path.read_text()
    except OSError as error:
        raise access_error(str(path), error) from error
