"""The split that a data set's own layout puts a file in: `save_to_disk` of a `DatasetDict`, and the
Hub's Parquet.
"""

import re

_NAMES = "test|testing|validation|valid|val|dev|eval|evaluation|heldout"
_HELD_OUT = rf"(?P<split>(?:{_NAMES})(?![a-zA-Z])[\w.]*?)"
_OF = r"-\d{5}-of-\d{5}(?:-[0-9a-f]{16})?"
_LAYOUTS = (
    re.compile(rf"(?:.*/)?{_HELD_OUT}/data{_OF}\.arrow"),
    re.compile(rf"(?:.*/)?{_HELD_OUT}{_OF}\.(?:parquet|arrow|jsonl|json|csv)"),
    re.compile(rf"(?:.*/)?{_HELD_OUT}/\d{{4}}\.parquet"),
)
"""Folders of a `DatasetDict`, pieces by split (`push_to_hub`), what the Hub converts."""


def split_of(file: str) -> str | None:
    """The split that a file is held out for by its place; None for training, and for any other
    name, which says nothing.
    """
    found = next(filter(None, (layout.fullmatch(file) for layout in _LAYOUTS)), None)
    return None if found is None else found["split"]
