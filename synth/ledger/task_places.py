"""Tasks read a few at a time, again and again, without reading all others each time."""

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from synth.ledger import rows
from synth.ledger.ledger import Ledger
from synth.schemas.task import Task


class TaskPlaces:
    """Of the tasks of every flow that ran here, the file that each lies in: an id and a number per
    task in memory.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._files = [
            shard.files["tasks"] for shard in ledger.state.shards if "tasks" in shard.files
        ]
        self._at = {
            identity: at
            for at, file in enumerate(self._files)
            for identity in ledger.files.table(file)["task_id"].to_pylist()
        }

    def tasks(self, wanted: Collection[str]) -> dict[str, Task]:
        """The wanted tasks by id, as far as they are there; one that several files hold as the last
        of them has it.
        """
        found: dict[str, Task] = {}
        for at in sorted({self._at[identity] for identity in wanted if identity in self._at}):
            here = pa.array(
                sorted(identity for identity in wanted if self._at.get(identity) == at), pa.string()
            )
            table = self._ledger.files.table(self._files[at])
            found |= {
                row["task_id"]: rows.task_of(row)
                for row in table.filter(pc.is_in(table["task_id"], value_set=here)).to_pylist()
            }
        return found
