"""Batches: the requests of one stand in a file, the answers in another, joined by `custom_id`."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from synth.importers.batch_lines import body_of, is_answer, is_request, sides_of
from synth.importers.files.decompression import DAMAGE
from synth.importers.files.folders import files
from synth.importers.files.json_records import records_in
from synth.importers.records import (
    UNEXPECTED,
    ImportSettings,
    Object,
    Record,
    Rejection,
)
from synth.schemas import content_hash

_SEVERAL = (
    "an answer of a batch whose custom_id several requests have: import each batch by itself, or "
    "put it in a folder of its own"
)


class BatchRequests:
    """The requests of batches among the sources; the sources are read when a batch's first answer
    is met, and not before.
    """

    def __init__(self, sources: Sequence[Path], settings: ImportSettings) -> None:
        self._sources, self._settings = sources, settings

    def answered(self, record: Record, folder: Path) -> Record | Rejection:
        """An answer with its request; any other record as it is. `folder`: where its file lies.

        Many batches number their requests alike: those that lie beside the answer come first, and
        an answer to one of several requests is a rejection.
        """
        value = record.value
        if not is_answer(value) or value["custom_id"] not in self._bodies:
            return record
        asked = self._bodies[value["custom_id"]]
        bodies = {content_hash(body): body for where, body in asked if where == folder}
        bodies = bodies or {content_hash(body): body for _, body in asked}
        if len(bodies) > 1:
            return record.rejected("bad_record", _SEVERAL)
        joined = {"request": next(iter(bodies.values())), **sides_of(value)}
        return replace(record, value=joined, content=content_hash(joined))

    @cached_property
    def _bodies(self) -> dict[str, list[tuple[Path, Any]]]:
        """By their `custom_id` the requests, and the folders in which they lie."""
        found: dict[str, list[tuple[Path, Any]]] = {}
        for source in chain.from_iterable(map(files, self._sources)):
            if not isinstance(source, Rejection) and source[0].is_file():
                for one in self._requests(*source):
                    asked = (source[0].parent, body_of(one))
                    found.setdefault(one["custom_id"], []).append(asked)
        return found

    def _requests(self, path: Path, name: str) -> Iterator[Object]:
        """The requests of one file; none where its first record is no request."""
        try:
            for record in records_in(path, name, self._settings):
                if isinstance(record, Rejection):
                    continue
                if not is_request(record.value):
                    return
                yield record.value
        except (ValueError, *DAMAGE, *UNEXPECTED):
            return  # the file's own turn says what is wrong with it
