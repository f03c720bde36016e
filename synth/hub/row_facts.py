"""What a reader must know of rows that go out, counted in the rows themselves; every text in them
is searched on the way.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

import polars as pl
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
_READ = {*_AUTHORS, *_STANDS_ON, *COUNTED, "task_id", "gold_informed"}


class RowFacts:
    """Counts over the rows of one configuration. `stands_on`: how many rows stand on the same
    trajectories, or, of tasks, on the same task; in the order of the rows.
    """

    def __init__(self) -> None:
        self.rows = self.bytes = self.scripted = self.gold_informed = 0
        self.composition: dict[str, Counter[str]] = {column: Counter() for column in COUNTED}
        self.stands_on: Counter[tuple[str, ...]] = Counter()
        self.schema = pa.schema([])

    @property
    def identities(self) -> list[str]:
        """Each trajectory or task once, as the rows come to them."""
        return list(dict.fromkeys(identity for of_row in self.stands_on for identity in of_row))

    @property
    def benchmarks(self) -> Counter[str]:
        """Attempts at public benchmarks, by their names."""
        return self._named("benchmark", "none")

    @property
    def held_out(self) -> Counter[str]:
        """Attempts at held-out tasks, by their splits."""
        return self._named("split", "none", "train")

    def _named(self, column: str, *others: str) -> Counter[str]:
        found = self.composition[column].items()
        return Counter({name: count for name, count in found if name not in others})

    def take(self, batch: pa.RecordBatch) -> None:
        """Adds a batch of rows."""
        self.rows += batch.num_rows
        self.bytes += batch.nbytes
        read = [name for name in batch.schema.names if name in _READ]
        frame = cast(pl.DataFrame, pl.from_arrow(pa.Table.from_batches([batch.select(read)])))
        if authors := [name for name in _AUTHORS if name in read]:
            by_script = pl.any_horizontal(pl.col(authors).eq_missing(pl.lit("scripted")))
            self.scripted += frame.select(by_script.sum()).item()
        if "gold_informed" in read:
            self.gold_informed += int(frame["gold_informed"].sum())
        for column in COUNTED:
            if column in read:
                self.composition[column].update(str(one or "none") for one in frame[column])
        columns = [name for name in _STANDS_ON if name in read] or ["task_id"]
        if set(columns) <= set(read):
            of_rows = frame.select(columns).iter_rows()
            self.stands_on.update(tuple(filter(None, of_row)) for of_row in of_rows)


def row_facts(config: Config, outgoing: PublishScan) -> RowFacts:
    """One pass over a configuration's shards, some hundred rows in memory at a time."""
    facts = RowFacts()
    for file in config.files.values():
        shard = pq.ParquetFile(file.content)
        facts.schema = shard.schema_arrow
        for batch in shard.iter_batches(batch_size=_ROWS_AT_ONCE):
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
