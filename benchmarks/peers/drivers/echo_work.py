"""What every driver is given: a JSON file as its only argument. Imported by drivers, inside each
tool's own environment.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Work:
    """Goals to be worked on against a chat server, `in_flight` calls at a time; what is recorded
    goes into `folder`.
    """

    url: str
    model: str
    system: str
    goals: list[str]
    in_flight: int
    folder: str


def given() -> Work:
    """The work named on the command line."""
    return Work(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))


def echo(text: str) -> str:
    """Says a text back.

    Args:
        text: The text to say back.
    """
    return text
