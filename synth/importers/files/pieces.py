"""A log that is kept as a folder, with a file for each event: `0.json`, `1.json`, and so on."""

import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from synth.importers.files.decompression import MAX_UNPACKED, Known, Unpacked, hashed
from synth.importers.files.json_value import value_at
from synth.importers.records import WHOLE, Record, Rejection
from synth.importers.streams.event_facts import recognised

_NUMBERED = re.compile(r"(\d+)\.json")
_CACHE, _EVENTS = "event_cache", "events"
"""What OpenHands calls the folder of events, and the one beside it that holds them once more."""
_LARGEST = 64 << 20
"""Bytes of an event; in a larger file nobody looks for one."""


def are_pieces(folder: Path, names: Sequence[str]) -> bool:
    """Whether these files of a folder are the events of one run: numbered, all of them, and the
    first one is an event. Files of whole runs may be numbered too.
    """
    if not names or not all(map(_NUMBERED.fullmatch, names)):
        return False
    first = folder / _in_order(names)[0]
    try:
        # a pipe of the name would be waited for
        if not first.is_file() or first.stat().st_size > _LARGEST:
            return False
        text = first.read_text("utf-8", "replace")
    except OSError:
        return False
    return recognised(value_at(text.lstrip("\ufeff \t\r\n"))[0])


def is_copy(folder: Path) -> bool:
    """Whether a folder holds the events of the one beside it, some to a file."""
    beside = folder.parent / _EVENTS
    if folder.name != _CACHE or not beside.is_dir():
        return False
    return are_pieces(beside, [path.name for path in beside.iterdir()])


def joined(folder: Path, name: str, known: Known) -> Unpacked | Rejection:
    """The events in the order of their numbers, a line each; a file that cannot be read takes the
    whole back, one that holds nothing is a line that holds nothing.
    """
    whole, lines, size = Record(name, "", WHOLE, None), list[bytes](), 0
    try:
        for piece in _in_order([path.name for path in folder.iterdir()]):
            if not (folder / piece).is_file():
                return whole.rejected("not_a_file", piece)
            size += (folder / piece).stat().st_size
            if size > MAX_UNPACKED:
                told = f"events of more than {MAX_UNPACKED} bytes together"
                return whole.rejected("file_too_large", told)
            # a line break stands between values alone: in a text it is escaped
            line = (folder / piece).read_bytes().replace(b"\r", b" ").replace(b"\n", b" ").strip()
            lines.append(line or b"null")
    except OSError as error:
        told = f"{piece}: {error.strerror or error}"
        return whole.rejected("unreadable", told)

    content = b"".join(line + b"\n" for line in lines)
    return hashed(BytesIO(content), lambda: BytesIO(content), whole, known, len(content))


def _in_order(names: Sequence[str]) -> list[str]:
    return sorted(names, key=lambda name: (int(name.partition(".")[0]), name))
