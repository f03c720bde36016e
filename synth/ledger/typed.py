"""Typed readers: rows of `scores` with the struct that their writer gave."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Generic, TypeVar

import msgspec
import pyarrow as pa

from synth.ledger.evidence import HELD_BY
from synth.ledger.ledger import Ledger
from synth.ledger.views import LedgerConnection, connect
from synth.schemas.labels import METRICS
from synth.set_aside import SetAside

T = TypeVar("T")


class Read(msgspec.Struct, Generic[T], frozen=True):
    """A row: a number about a subject or one of its turns, and what stands behind it."""

    subject_id: str
    metric: str
    value: float | None
    turn: int | None
    about: T
    stage_key: str


def read(
    ledger: Ledger | LedgerConnection,
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
    """Rows of these metrics or of all, sorted by subject; those of the current flow, of a stage, under its key, or
    of `every` flow that ran here. `having`: a field of the kind, and the values it may have.
    `places`: where subjects stand, which they are sorted by first.

    A row that is of another kind is noted in `aside`; without it, raises `msgspec.ValidationError`.
    """
    sql = (
        f"SELECT subject_id, metric, value, turn, detail, stage_key FROM "
        f"{'scores_all' if every or stage_key is not None else 'scores'} "
        f"{'' if places is None else 'LEFT JOIN places USING (subject_id)'} WHERE true"
    )
    values: list[object] = []
    for column, wanted in (
        ("metric", None if metrics is None else list(metrics)),
        ("stage_key", None if stage_key is None else [stage_key]),
        ("stage", None if stage is None else [stage]),
        ("subject_id", None if subjects is None else list(subjects)),
        *(() if having is None else ((_field(having[0]), list(having[1])),)),
    ):
        if wanted is not None:
            sql, values = f"{sql} AND {column} IN (SELECT unnest(?))", [*values, wanted]
    connection = connect(ledger) if isinstance(ledger, Ledger) else ledger.cursor()
    decode = msgspec.json.Decoder(kind).decode
    order = "subject_id, metric, turn, value, detail, stage_key"
    with connection:
        if places is not None:
            names, at = pa.array(places, pa.string()), pa.array(places.values(), pa.int64())
            connection.register("places", pa.table({"subject_id": names, "place": at}))
            order = "place, subject_id, turn, metric, detail"
        answer = connection.execute(f"{sql} ORDER BY {order}", values)
        while rows := answer.fetchmany(500):
            for subject, metric, value, turn, text, key in rows:
                about = (
                    decode(text or "{}")
                    if aside is None
                    else aside.tried(subject, partial(decode, text or ""))
                )
                if about is not None:
                    yield Read(subject, metric, value, turn, about, key)


def _field(name: str) -> str:
    return f"json_extract_string(detail, '$.{name}')"


def committed(
    ledger: Ledger, stage_key: str, kind: type[T], metrics: Collection[str]
) -> Iterator[Read[T]]:
    """Rows under a stage's key, in the order of their commits."""
    decode = msgspec.json.Decoder(kind).decode
    for shard in ledger.state.shards:
        if shard.stage_key != stage_key:
            continue
        for table in HELD_BY:
            if table in shard.files:
                columns = ["subject_id", "metric", "value", "turn", "detail"]
                for row in ledger.files.table(shard.files[table]).select(columns).to_pylist():
                    if row["metric"] in metrics:
                        yield Read(
                            row["subject_id"],
                            row["metric"],
                            row["value"],
                            row["turn"],
                            decode(row["detail"] or "{}"),
                            stage_key,
                        )


def labels(ledger: Ledger, kind: type[T]) -> Iterator[Read[T]]:
    """The current flow's labels of a kind."""
    return read(ledger, kind, METRICS[kind])
