"""Batches: the requests of one stand in a file, the answers in another, joined by `custom_id`."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from synth.importers.batch_lines import body_of, is_answer, is_request, sides_of
from synth.importers.files.decompression import DAMAGE, unpacked
from synth.importers.files.folders import files
from synth.importers.files.json_records import records
from synth.importers.records import (
    UNEXPECTED,
    ImportSettings,
    Object,
    Record,
    Rejection,
)
from synth.schemas import content_hash


class BatchRequests:
    """The requests of batches among the sources; the sources are read when a batch's first answer
    is met, and not before.
    """

    def __init__(self, sources: Sequence[Path], settings: ImportSettings) -> None:
        self._sources, self._settings = sources, settings

    def answered(self, record: Record) -> Record:
        """An answer with its request; any other record as it is."""
        value = record.value
        if not is_answer(value) or value["custom_id"] not in self._bodies:
            return record
        joined = {"request": self._bodies[value["custom_id"]], **sides_of(value)}
        return replace(record, value=joined, content=content_hash(joined))

    @cached_property
    def _bodies(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for source in chain.from_iterable(map(files, self._sources)):
            if not isinstance(source, Rejection) and source[0].is_file():
                found |= {one["custom_id"]: body_of(one) for one in self._requests(*source)}
        return found

    def _requests(self, path: Path, name: str) -> Iterator[Object]:
        """The requests of one file; none where its first record is no request."""
        file = unpacked(path, name, frozenset())
        if isinstance(file, Rejection):
            return
        try:
            for record in records(file, self._settings):
                if isinstance(record, Rejection):
                    continue
                if not is_request(record.value):
                    return
                yield record.value
        except (ValueError, *DAMAGE, *UNEXPECTED):
            return  # the file's own turn says what is wrong with it
