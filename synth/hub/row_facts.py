"""What a reader must know of rows that go out, counted in the rows themselves; every text in them
is searched on the way.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synth.hub.outgoing import PublishScan
from synth.hub.source import Config

_ROWS_AT_ONCE = 200
_AUTHORS = ("authorship", "chosen_authorship", "rejected_authorship")
_STANDS_ON = ("trajectory_id", "chosen_id", "rejected_id")
"""Columns that name trajectories; rows of tasks name none, only their task."""
COUNTED = ("synthesizer", "method", "policy", "model", "outcome", "benchmark", "split")


class RowFacts:
    """Counts over the rows of one configuration. `stands_on`: how many rows stand on the same
    trajectories, or, of tasks, on the same task; in the order of the rows.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.bytes = 0
        self.scripted = 0
        self.gold_informed = 0
        self.benchmarks: Counter[str] = Counter()
        self.held_out: Counter[str] = Counter()
        self.composition: dict[str, Counter[str]] = {column: Counter() for column in COUNTED}
        self.stands_on: Counter[tuple[str, ...]] = Counter()
        self.schema = pa.schema([])

    @property
    def identities(self) -> list[str]:
        """Each trajectory or task once, as the rows come to them."""
        return list(dict.fromkeys(identity for of_row in self.stands_on for identity in of_row))

    def take(self, batch: pa.RecordBatch) -> None:
        """Adds a batch of rows."""
        names = set(batch.schema.names)
        self.rows += batch.num_rows
        self.bytes += batch.nbytes
        by_script = [
            pc.fill_null(pc.equal(batch[column], "scripted"), False)
            for column in _AUTHORS
            if column in names
        ]
        if by_script:
            any_of_them = by_script[0]
            for other in by_script[1:]:
                any_of_them = pc.or_(any_of_them, other)
            self.scripted += pc.sum(any_of_them).as_py() or 0
        if "gold_informed" in names:
            self.gold_informed += pc.sum(batch["gold_informed"]).as_py() or 0
        for column in COUNTED:
            if column in names:
                for entry in pc.value_counts(batch[column]).to_pylist():
                    self.composition[column][str(entry["values"] or "none")] += entry["counts"]
        columns = [name for name in _STANDS_ON if name in names] or ["task_id"]
        if names.issuperset(columns):
            of_rows = zip(*(batch[name].to_pylist() for name in columns), strict=True)
            self.stands_on.update(tuple(filter(None, of_row)) for of_row in of_rows)
        self.benchmarks = Counter(
            {name: n for name, n in self.composition["benchmark"].items() if name != "none"}
        )
        self.held_out = Counter(
            {
                name: n
                for name, n in self.composition["split"].items()
                if name not in ("none", "train")
            }
        )


def row_facts(config: Config, outgoing: PublishScan) -> RowFacts:
    """One pass over a configuration's shards, some hundred rows in memory at a time."""
    facts = RowFacts()
    for path in config.files.values():
        file = pq.ParquetFile(path)
        facts.schema = file.schema_arrow
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
            facts.take(batch)
            for column, text in texts_of(batch):
                outgoing.search(f"{config.name}, column {column}", text)
    return facts


def texts_of(batch: pa.RecordBatch) -> Iterator[tuple[str, str]]:
    """(column, text) of every text in a batch, lists and structs included; texts that rows share
    come once per batch.
    """
    for name in batch.schema.names:
        for text in dict.fromkeys(_texts(batch[name])):
            yield name, text


def _texts(array: Any) -> Iterator[str]:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _texts(array.storage)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _texts(array.flatten())
    elif pa.types.is_struct(kind):
        for part in array.flatten():
            yield from _texts(part)
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield from (text for text in pc.unique(array).to_pylist() if text)
