"""Files of scores that lie among the traces that they are of."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from synth.importers.files.folders import files
from synth.importers.files.json_records import records_in
from synth.importers.labelling.annotations import are_annotations
from synth.importers.records import ImportSettings, Record, Rejection

_PEEKED = 1 << 16
_SIGNS = (
    (b'"annotator_kind"', b'"result"', b'_id"'),
    (b'"dataType"', b'"traceId"', b'"name"', b'"source"'),
    (b'"run_id"', b'"key"', b'"score"', b'"feedback'),
    (b'"feedback_type"', b'"weave_ref"', b'"payload"'),
)
"""Keys of which the beginning of such a file has all of a row."""


def annotation_files(sources: Sequence[Path]) -> Iterator[Path]:
    """Those files among the sources that hold scores of traces. Only a file's first bytes are read,
    unless they look like it.
    """
    for source in sources:
        for found in files(source) if source.exists() else ():
            if isinstance(found, Rejection) or not found[0].is_file() or not _looks(found[0]):
                continue
            record = next(records_in(*found, ImportSettings()), None)
            if isinstance(record, Record) and are_annotations(record.value):
                yield found[0]


def _looks(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            start = stream.read(_PEEKED)
    except OSError:
        return False
    holds_traces = any(sign in start for sign in (b'"observations"', b'"run_type"', b'"op_name"'))
    return not holds_traces and any(all(sign in start for sign in row) for row in _SIGNS)
