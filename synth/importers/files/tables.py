"""Tables -> JSON records, a row each: Parquet, Arrow (what `save_to_disk` writes), CSV.

A key that a row of a struct has no value for is left out: Arrow merges the keys of all rows, and
fills the gaps with null. Memory is bounded by a batch of rows.
"""

import base64
import csv
import io
import json
import sys
from collections.abc import Iterator
from itertools import chain
from typing import Any

from synth.importers.chats.words import COLUMNS, NAMES
from synth.importers.files.decompression import Unpacked
from synth.importers.files.json_value import value_at
from synth.importers.records import ImportSettings, Object, Record, Rejection
from synth.schemas import content_hash, valid_text

_ROWS = 64
_UNREAD = (ValueError, OverflowError, TypeError, NotImplementedError, RecursionError)
"""What a value raises that has no counterpart in Python or JSON."""
_SIGNS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "stream"}
"""The first bytes of Parquet, of an Arrow file, and of an Arrow stream."""
_HEADS = {*NAMES, *(name for names in COLUMNS.values() for name in names), "input", "prompt"}
"""Names by one of which the first line of a CSV is known."""
_SPEAKERS = {"role", "from"}
_BETWEEN = (",", ";", "\t")


def table_kind(head: bytes, *, loose: bool = False) -> str | None:
    """`parquet`, `arrow`, `stream`, `csv`, or None where the first bytes are none of these;
    `loose`: any line of names is the head of a CSV.
    """
    binary = next((kind for sign, kind in _SIGNS.items() if head.startswith(sign)), None)
    if binary is not None:
        return binary

    first = head.split(b"\n", 1)[0].decode("utf-8", "replace").lstrip("\ufeff").strip()
    if first.startswith(("{", "[")) or not any(one in first for one in _BETWEEN):
        return None
    return "csv" if loose or _known(_names(first, _between(first))) else None


def _between(first: str) -> str:
    """What stands between the cells of a table, by its line of names: what gives the most names
    that are known, and of these the most.
    """
    return max(_BETWEEN, key=lambda one: (_known(names := _names(first, one)), len(names)))


def _names(first: str, between: str) -> list[str]:
    return next(csv.reader([first], delimiter=between), [])


def _known(names: list[str]) -> int:
    return len({name.strip() for name in names} & _HEADS)


def rows(file: Unpacked, kind: str, settings: ImportSettings) -> Iterator[Record | Rejection]:
    """Every row of a table as a record at `row<n>`, counted from 0; a damaged table is a rejection
    of the whole file.
    """
    place = 0
    try:
        for value in _csv(file) if kind == "csv" else _arrow(file, kind):
            record = file.record(f"row{place}")
            place += 1
            if isinstance(value, Exception):
                yield record.rejected("bad_record", f"{type(value).__name__}: {value}")
            else:
                yield _row(record, value, settings.max_record_bytes)
        if not place:
            yield file.record("file").rejected("empty", "a table without rows")
    except (ValueError, OSError, KeyError, NotImplementedError, csv.Error) as error:
        detail = f"row {place}: {type(error).__name__}: {error}"
        yield file.record("file").rejected("damaged_file", detail)


def _row(record: Record, value: Object, limit: int) -> Record | Rejection:
    """The record of a row; a lone surrogate becomes U+FFFD."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        return record.rejected("bad_record", f"no JSON value: {error}")
    if len(text) > limit:
        return record.rejected("record_too_large", f"more than {limit} bytes")

    clean = valid_text(text)
    value = value if clean == text else json.loads(clean)
    content = content_hash(value)
    return Record(record.file, record.sha, record.locator, value, content, clean != text)


def _arrow(file: Unpacked, kind: str) -> Iterator[Object | Exception]:
    """The rows of a Parquet or Arrow file, and why one cannot be read in its place."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with file.open() as stream:
        source: Any = stream if stream.seekable() else io.BytesIO(stream.read())
        if kind == "parquet":
            batches = pq.ParquetFile(source).iter_batches(batch_size=_ROWS)
        elif kind == "arrow":
            opened = pa.ipc.open_file(source)
            batches = map(opened.get_batch, range(opened.num_record_batches))
        else:
            batches = iter(pa.ipc.open_stream(source))

        for batch in batches:
            for start in range(0, batch.num_rows, _ROWS):
                for row in _part(batch.slice(start, _ROWS)):
                    file.read = min(file.size, file.read + batch.nbytes // max(1, batch.num_rows))
                    yield row


def _part(part: Any) -> Iterator[Object | Exception]:
    """The rows of a part of a table. Where one cannot be read, the others are, one by one; times
    that Python has no value for are then texts.
    """
    try:
        found = _objects(part)
    except _UNREAD:
        for at in range(part.num_rows):
            try:
                found = _objects(_times_as_text(part.slice(at, 1)))
            except _UNREAD as error:
                yield error
            else:
                yield from found
    else:
        yield from found


def _objects(part: Any) -> list[Object]:
    columns = [(field.name, field.type) for field in part.schema]
    return [
        {name: plain(row[name], held) for name, held in columns if row[name] is not None}
        for row in part.to_pylist()
    ]


def _times_as_text(part: Any) -> Any:
    import pyarrow as pa

    columns = [
        column.cast(pa.string()) if pa.types.is_temporal(column.type) else column
        for column in part.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=part.schema.names)


def plain(value: Any, held: Any) -> Any:
    """An Arrow value of a type as JSON: JSON columns decoded, keys without a value left out."""
    import pyarrow as pa

    types = pa.types
    if value is None:
        return None
    if isinstance(held, pa.BaseExtensionType):
        if held.extension_name == "arrow.json":
            return json.loads(value) if isinstance(value, str) else value
        return plain(value, held.storage_type)
    if types.is_struct(held):
        return _struct(value, held)
    if types.is_map(held):
        return {str(key): plain(one, held.item_type) for key, one in value}
    if types.is_list(held) or types.is_large_list(held) or types.is_fixed_size_list(held):
        return [plain(one, held.value_type) for one in value]
    if types.is_dictionary(held):
        return plain(value, held.value_type)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value if isinstance(value, str | int | float | bool) else str(value)


def _struct(value: Any, held: Any) -> Object | list[Object]:
    fields = ((field.name, field.type) for field in held)
    return _in_rows(
        {name: plain(value[name], inner) for name, inner in fields if value[name] is not None}
    )


def _in_rows(value: Object) -> Object | list[Object]:
    """Messages as a list, where their columns lie in one object: so `datasets` stores a `Sequence`
    of objects.
    """
    held = [len(one) if isinstance(one, list) else -1 for one in value.values()]
    if not value.keys() & _SPEAKERS or len(set(held)) != 1 or held[0] < 0:
        return value
    rows = (zip(value, cells, strict=True) for cells in zip(*value.values(), strict=True))
    return [{key: cell for key, cell in row if cell is not None} for row in rows]


def _csv(file: Unpacked) -> Iterator[Object]:
    """The rows of a CSV; a cell that is a JSON object or array is read as one."""
    csv.field_size_limit(min(sys.maxsize, 1 << 31))
    with file.open() as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
        names = next((line for line in text if line.strip()), "")
        reader = csv.DictReader(chain([names], text), delimiter=_between(names), strict=True)
        for row in reader:
            file.read = min(file.size, file.read + sum(len(cell or "") for cell in row.values()))
            yield {key: _cell(cell) for key, cell in row.items() if key is not None and cell}


def _cell(cell: str) -> Any:
    if not cell.startswith(("{", "[")):
        return cell
    value, end = value_at(cell)
    return value if end == len(cell.rstrip()) else cell
