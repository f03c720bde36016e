"""Text-to-SQL by template: bots that read goals and schemas, by how many references they follow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from benchmarks.sql.reader import ALL, Reader
from benchmarks.sql.told_schema import ToldSchema, UnreadError
from synth.envs.bots import calls_turn
from synth.schemas import Act, AgentTurn, Episode, Policy, View

DONE = AgentTurn("It is done.")
Written = Callable[[str, str], list[tuple[str, str]]]
"""(goal, schema) -> the calls, each as (tool, statement)."""


@dataclass(frozen=True)
class _Templates:
    """Asks for the schema, makes its calls, and says that it is done."""

    write: Written

    async def act(self, view: View) -> Act:
        """The next of its turns."""
        if not view.turns:
            return Act(turn=calls_turn(view, [("schema", {})]))

        goal = view.opening.observations[0].content
        try:
            calls = self.write(goal, view.turns[0].observations[0].content)
        except (UnreadError, ValueError, KeyError):
            return Act(turn=DONE)

        at = len(view.turns) - 1
        if at >= len(calls):
            return Act(turn=DONE)

        return Act(turn=calls_turn(view, [(calls[at][0], {"sql": calls[at][1]})]))


def _first_table(goal: str, ddl: str) -> list[tuple[str, str]]:
    """All rows of the table that the goal names first, or how many they are."""
    tables = ToldSchema(ddl).by_words
    named = [many for many in tables if many in goal]
    first = tables[min(named, key=goal.index)].name if named else "none"
    shown = "COUNT(*)" if goal.startswith("How many") else "*"

    return [("answer", f'SELECT {shown} FROM "{first}"')]


def _read(deepest: int, goal: str, ddl: str) -> list[tuple[str, str]]:
    """What the reader makes of the goal, so far as it follows references."""
    return Reader(ddl, deepest).statements(goal)


def _opened(write: Written, episode: Episode) -> Policy:
    return _Templates(write)


BOTS: Mapping[str, Callable[[Episode], Policy]] = {
    "first table": partial(_opened, _first_table),
    "template, own columns": partial(_opened, partial(_read, 0)),
    "template, one reference": partial(_opened, partial(_read, 1)),
    "template, all references": partial(_opened, partial(_read, ALL)),
}
"""From the weakest to the one that reads all of the grammar."""
