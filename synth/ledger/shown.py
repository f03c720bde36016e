"""Which files of a table make up what the current flow shows of it, and which of their rows: for
SQL and for frames alike.
"""

from collections.abc import Sequence

import msgspec

from synth.ledger.evidence import HELD_BY
from synth.ledger.manifest import ShardLine, StoredFile

_BY_TRAJECTORY = {"trajectories", "turns", "decisions"}


class ObservedPrompt(msgspec.Struct, frozen=True):
    """Files of one table. `adopted_only`: of their rows those of adopted trajectories; `hides`:
    none of superseded ones.
    """

    files: tuple[StoredFile, ...]
    adopted_only: bool = False
    hides: bool = False


def shown(
    table: str, whole: Sequence[ShardLine], partly: Sequence[ShardLine], *, hides: bool
) -> list[ObservedPrompt]:
    """What is shown of the shards that belong to the flow, and of those of which it adopted rows.

    `hides`: some attempts are superseded by ones that another machine committed first.
    """
    by_trajectory = table in _BY_TRAJECTORY
    hides = hides and by_trajectory
    parts = [ObservedPrompt(files_of(table, whole), hides=hides)]
    if by_trajectory:
        parts.append(ObservedPrompt(files_of(table, partly), adopted_only=True, hides=hides))
    elif table == "tasks":
        parts.append(ObservedPrompt(files_of(table, partly)))
    return [part for part in parts if part.files]


def files_of(table: str, shards: Sequence[ShardLine]) -> tuple[StoredFile, ...]:
    """The files that hold a table's rows, in the order of their commits."""
    names = HELD_BY if table == "scores" else (table,)
    return tuple(shard.files[name] for shard in shards for name in names if name in shard.files)


def former_files(shards: Sequence[ShardLine]) -> tuple[StoredFile, ...]:
    """The files of the table `scores`, which earlier versions wrote."""
    return tuple(shard.files["scores"] for shard in shards if "scores" in shard.files)
