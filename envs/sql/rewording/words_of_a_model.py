"""A model's words for a goal that rules wrote: accepted where they are read as its changes."""

from collections.abc import Sequence

from msgspec.structs import replace

from synth.envs.sql.database.sources import DatabaseSource
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.rewording.reader import read
from synth.envs.sql.words import vocabulary
from synth.schemas import Draft


def reworded(source: DatabaseSource, draft: Draft, lines: Sequence[str]) -> Draft:
    """The draft with each change in other words. Raises `ValueError` where a line is read as
    another change, or as none.
    """
    own = draft.goal.splitlines()
    databases = TaskDatabases(source, draft.seed or 0, 1)

    try:
        words = vocabulary(databases.database)
    finally:
        databases.close()

    if len(lines) != len(own):
        raise ValueError(f"{len(lines)} lines for {len(own)} changes")

    said = [" ".join(line.split()) for line in lines]

    for number, (line, wording) in enumerate(zip(own, said, strict=True), start=1):
        got = read(wording, words)
        if got != words.read(line):
            why = "no change is read in it" if got is None else f"it is read as: {words.write(got)}"
            raise ValueError(f"line {number}: {why}; it is to say: {line}")

    return replace(draft, worded="\n".join(said))
