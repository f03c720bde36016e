"""An episode's state: the rows that differ from the base world, and a key that every write moves
and every undo moves back.
"""

from collections.abc import Iterator

from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.world import KEY_MODULUS, BaseWorld, row_hash
from synth.schemas import Scalar


class State:
    """Base world plus overlay. Rows are never changed in place: a write puts a new row.

    The key is the sum of the hashes of all rows modulo 2^128: the order of writes does not matter,
    and one write costs two hashes.
    """

    __slots__ = ("_key_sum", "base", "changed")

    def __init__(self, base: BaseWorld) -> None:
        self.base = base
        self.changed: dict[tuple[str, str], Row] = {}
        self._key_sum = base.key_sum

    def copy(self) -> "State":
        """The same state, to be changed apart."""
        other = State(self.base)
        other.changed = dict(self.changed)
        other._key_sum = self._key_sum

        return other

    def get(
        self,
        table: str,
        key: str,
    ) -> Row | None:
        """The row as it is now, or None."""
        row = self.changed.get((table, key))

        return row if row is not None else self.base.tables[table].get(key)

    def row(
        self,
        table: str,
        key: str,
    ) -> Row:
        """A row that is known to exist. Raises `KeyError` else."""
        row = self.changed.get((table, key))

        return row if row is not None else self.base.tables[table][key]

    def put(
        self,
        table: str,
        key: str,
        row: Row,
    ) -> None:
        """Replaces or creates a row; a row put back to its base content leaves the overlay."""
        old = self.get(table, key)
        # a sum has no order: undoing a write brings the key back
        delta = row_hash(table, key, row) - (row_hash(table, key, old) if old is not None else 0)
        self._key_sum = (self._key_sum + delta) % KEY_MODULUS

        if self.base.tables[table].get(key) == row:
            self.changed.pop((table, key), None)
        else:
            self.changed[(table, key)] = row

    def update(self, table: str, key: str, **columns: Scalar) -> None:
        """Replaces a row by itself with other values in some columns."""
        self.put(table, key, {**self.row(table, key), **columns})

    def next_key(
        self,
        table: str,
        stem: str,
    ) -> str:
        """The key of the next new row whose key begins so, numbered from 1."""
        count = sum(at == table and key.startswith(stem) for at, key in self.changed)

        return f"{stem}{count + 1}"

    def key(self) -> str:
        """The state key: 32 hex digits."""
        return f"{self._key_sum:032x}"

    def facts(self) -> dict[str, Scalar]:
        """Every logical fact as `table/key/column`."""
        facts = {
            f"{table}/{key}/{column}": value
            for table, rows in self.base.tables.items()
            for key, row in rows.items()
            for column, value in row.items()
        }

        return facts | self.changed_facts()

    def changed_facts(self) -> dict[str, Scalar]:
        """The paths whose value is not that of the base world, sorted."""
        return dict(sorted(self._changed_paths()))

    def _changed_paths(self) -> Iterator[tuple[str, Scalar]]:
        """The paths that differ from the base world, with their values."""
        for (table, key), row in self.changed.items():
            start = self.base.tables[table].get(key, {})

            for column, value in row.items():
                if column not in start or start[column] != value:
                    yield f"{table}/{key}/{column}", value
