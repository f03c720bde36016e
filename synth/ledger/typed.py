"""Typed readers: rows of `scores` with the struct that their writer gave."""

from collections.abc import Collection, Iterator, Sequence
from typing import Generic, TypeVar

import msgspec

from synth.ledger.evidence import HELD_BY
from synth.ledger.ledger import Ledger
from synth.ledger.views import LedgerConnection, connect
from synth.schemas.labels import METRICS

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
    metrics: Sequence[str],
    *,
    stage_key: str | None = None,
    subjects: Sequence[str] | None = None,
    having: tuple[str, Sequence[str]] | None = None,
    every: bool = False,
) -> Iterator[Read[T]]:
    """Rows of these metrics, sorted by subject; those of the current flow, under a stage's key, or
    of `every` flow that ran here. `having`: a field of the kind, and the values it may have.

    Raises `msgspec.ValidationError` for a row that is of another kind.
    """
    sql = (
        f"SELECT subject_id, metric, value, turn, detail, stage_key FROM "
        f"{'scores_all' if every or stage_key is not None else 'scores'} "
        "WHERE metric IN (SELECT unnest(?))"
    )
    values: list[object] = [list(metrics)]
    for column, wanted in (
        ("stage_key", None if stage_key is None else [stage_key]),
        ("subject_id", None if subjects is None else list(subjects)),
        *(() if having is None else ((_field(having[0]), list(having[1])),)),
    ):
        if wanted is not None:
            sql, values = f"{sql} AND {column} IN (SELECT unnest(?))", [*values, wanted]
    connection = connect(ledger) if isinstance(ledger, Ledger) else ledger.cursor()
    decode = msgspec.json.Decoder(kind).decode
    with connection:
        answer = connection.execute(
            f"{sql} ORDER BY subject_id, metric, turn, value, detail, stage_key", values
        )
        while rows := answer.fetchmany(500):
            for subject, metric, value, turn, text, key in rows:
                yield Read(subject, metric, value, turn, decode(text or "{}"), key)


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
