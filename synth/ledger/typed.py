"""Typed readers: rows of `scores` with the struct that their writer gave."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from sys import intern
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import msgspec
import pyarrow as pa

from synth.ledger.ledger import StoredLedger
from synth.ledger.log.manifest import StoredFile
from synth.ledger.tables.evidence import HELD_BY
from synth.ledger.views import LedgerConnection, connect
from synth.schemas import METRICS
from synth.set_aside import SetAside

T = TypeVar("T")
Row = dict[str, Any]
_READ = ["subject_id", "metric", "value", "turn", "detail", "stage_key"]
_SORTED = ("subject_id", "metric", "turn", "value", "detail")
"""What rows are sorted by; what is missing comes last."""
AT_ONCE = 500
"""Rows in memory."""
_HELD: WeakKeyDictionary[StoredLedger, dict[str, frozenset[str]]] = WeakKeyDictionary()
"""By ledger and file, whose rows it holds."""


class Read(msgspec.Struct, Generic[T], frozen=True):
    """A row: a number about a subject or one of its turns, and what stands behind it."""

    subject_id: str
    metric: str
    value: float | None
    turn: int | None
    about: T
    stage_key: str


def read(
    ledger: StoredLedger | LedgerConnection,
    kind: type[T],
    metrics: Sequence[str] | None = None,
    *,
    stage_key: str | None = None,
    stage: str | None = None,
    subjects: Sequence[str] | None = None,
    having: tuple[str, Sequence[str]] | None = None,
    every: bool = False,
    aside: SetAside | None = None,
    places: Mapping[str, int] | None = None,
) -> Iterator[Read[T]]:
    """Rows of these metrics or of all, sorted by subject.

    They are those of the current flow, of a stage, under its key, or of `every` flow that ran here.
    `having`: a field of the kind, and the values it may have. `places`: where subjects stand, which
    they are sorted by first.

    A row that is of another kind is noted in `aside`; without it, raises `msgspec.ValidationError`.
    """
    field, one_of = having or ("", None)
    wanted: dict[str, Any] = {
        "metric": metrics,
        "stage_key": None if stage_key is None else [stage_key],
        "stage": None if stage is None else [stage],
        "subject_id": subjects,
        f"json_extract_string(detail, '$.{field}')": one_of,
    }
    wanted = {column: list(values) for column, values in wanted.items() if values is not None}
    rows = "scores_all" if every or stage_key is not None else "scores"
    where = "".join(f" AND {column} IN (SELECT unnest(?))" for column in wanted)
    order = ", ".join((*_SORTED, "stage_key"))
    decode = msgspec.json.Decoder(kind).decode

    with connect(ledger) if isinstance(ledger, StoredLedger) else ledger.cursor() as connection:
        if places is not None:
            names, at = pa.array(places, pa.string()), pa.array(places.values(), pa.int64())
            connection.register("places", pa.table({"subject_id": names, "place": at}))
            rows = f"{rows} LEFT JOIN places USING (subject_id)"
            order = "place, subject_id, turn, metric, detail"
        answer = connection.execute(
            f"SELECT {', '.join(_READ)} FROM {rows} WHERE true{where} ORDER BY {order}",
            list(wanted.values()),
        )
        while found := answer.fetchmany(AT_ONCE):
            for subject, metric, value, turn, text, key in found:
                if aside is None:
                    about: T | None = decode(text or "{}")
                else:
                    about = aside.tried(subject, partial(decode, text or ""))
                if about is not None:
                    yield Read(subject, metric, value, turn, about, key)


def committed(
    ledger: StoredLedger, stage_key: str, kind: type[T], metrics: Collection[str]
) -> Iterator[Read[T]]:
    """Rows under a stage's key, in the order of their commits."""
    decode = msgspec.json.Decoder(kind).decode
    for file in _files(ledger, stage_key):
        for row in ledger.files.table(file, _READ).to_pylist():
            if row["metric"] in metrics:
                yield Read(about=decode(row.pop("detail") or "{}"), **row)


def of_subjects(
    ledger: StoredLedger, stage_key: str, kind: type[T], subjects: Collection[str]
) -> list[Read[T]]:
    """Rows of these subjects under a stage's key, sorted as those of `read`.

    Whose rows a file holds is remembered: files without any that is wanted are read once, so that
    going over a run in parts costs as much for each part, however many there are.
    """
    known, wanted, found = _HELD.setdefault(ledger, {}), frozenset(subjects), list[Row]()
    for file in _files(ledger, stage_key):
        held = known.get(file.path)
        if held is None or not held.isdisjoint(wanted):
            rows = ledger.files.table(file, _READ).to_pylist()
            known[file.path] = frozenset(intern(row["subject_id"]) for row in rows)
            found += (row for row in rows if row["subject_id"] in wanted)

    decode = msgspec.json.Decoder(kind).decode
    found.sort(key=lambda row: [(row[name] is None, row[name]) for name in _SORTED])
    return [Read(about=decode(row.pop("detail") or "{}"), **row) for row in found]


def labels(ledger: StoredLedger, kind: type[T]) -> Iterator[Read[T]]:
    """The current flow's labels of a kind."""
    return read(ledger, kind, METRICS[kind])


def _files(ledger: StoredLedger, stage_key: str) -> Iterator[StoredFile]:
    """The files of scores under a stage's key, in the order of their commits."""
    shards = (shard.files for shard in ledger.state.shards if shard.stage_key == stage_key)
    return (files[name] for files in shards for name in HELD_BY if name in files)
