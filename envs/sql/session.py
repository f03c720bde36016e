"""One agent's work at a database: what its tools do there, and the facts that follow from it."""

import msgspec

from synth.envs.episode import answer
from synth.envs.sql.database.answers import beside, given_by
from synth.envs.sql.database.engines import Sqlite
from synth.envs.sql.database.results import StatementError, fingerprints, shown
from synth.envs.sql.database.sources import DatabaseSource, Engine, SqlConfig
from synth.envs.sql.tools import OVER, problem_of
from synth.schemas import Observation, Scalar, Task, ToolCall, content_hash


class Seat(msgspec.Struct):
    """All of an episode but the rows, which follow from the changes."""

    changes: list[str] = []
    answer: dict[str, str] = {}
    seen: bool = False
    looked: int = 0
    over: bool = False
    turns: int = 0


class Session:
    """A database that an agent works at, once it is open, and what the agent did so far."""

    def __init__(self, config: SqlConfig, source: DatabaseSource, task: Task | None) -> None:
        """`task` says which database this is, and which ones stand beside it."""
        self._config, self._source = config, source
        self.seed = (task.seed if task else config.explored_seed) % 2**31
        self.beside = beside(task)
        self.database = source.database(self.seed)
        self.seat = Seat()
        self.engine: Engine | None = None
        self._rows: tuple[dict[str, Scalar], str] | None = None

    def open(self) -> None:
        """Opens the database."""
        self.engine = self._config.opened(self.database)

    def close(self) -> None:
        """Lets the database go."""
        if self.engine is not None:
            self.engine.close()

        self.engine = None

    def go_on(self, seat: Seat) -> None:
        """Goes on from where an agent was: going back is a rollback to where both part."""
        self.seat = seat

        if isinstance(self.engine, Sqlite) and self.engine.changes != seat.changes:
            self.engine.rewind(seat.changes)
            self._rows = None

    @property
    def _live(self) -> Engine:
        """The open database."""
        if self.engine is None:
            raise RuntimeError("sql: reset comes first")
        return self.engine

    def called(self, call: ToolCall) -> Observation:
        """One call's answer."""
        problem = OVER if self.seat.over else problem_of(call)
        text = problem or ""

        if problem is None:
            try:
                text = self._done(call.name, call.parsed().get("sql", ""))
            except StatementError as error:
                problem = text = f"error: {error}"

        return answer(call, text, failed=problem is not None)

    def _done(self, tool: str, sql: str) -> str:
        """Does what a tool does. Raises `StatementError`."""
        match tool:
            case "schema":
                self.seat.seen = True
                return self.database.ddl
            case "query":
                found = self._live.query(sql)
                self.seat.looked += 1
                return shown(found)
            case "change":
                if not isinstance(self._live, Sqlite):
                    raise StatementError("this database is for reading alone")

                count = self._live.change(sql)
                self.seat.changes.append(sql)
                self._rows = None

                return f"{_rows(count)} changed"
            case _:
                return self._answered(sql)

    def _answered(self, sql: str) -> str:
        """Takes a query as the answer, if it runs here."""
        found = self._live.query(sql)
        given = {f"main{kind}": value for kind, value in fingerprints(found).items()}
        given |= given_by(sql, self._config, self._source, self.seed, self.beside)
        self.seat.answer = given
        self.seat.over = True
        order = "in the order given." if " ORDER BY " in sql.upper() else "in any order."

        return f"Your answer is taken: {_rows(len(found.rows))}, {order}"

    def row_facts(self) -> tuple[dict[str, Scalar], str]:
        """The facts of all rows, with a hash of them; read again after each change."""
        if self._rows is None:
            live = self._live
            facts = live.facts() if isinstance(live, Sqlite) else {}
            self._rows = facts, content_hash([self.seed, facts])

        return self._rows

    def facts(self) -> dict[str, Scalar]:
        """Facts of rows, then those of the answer."""
        given = {f"answer/0/{name}": value for name, value in self.seat.answer.items()}
        return {**self.row_facts()[0], **given}

    def state_key(self) -> str:
        """The same for equal rows and answers."""
        given, (_, key) = self.seat.answer, self.row_facts()
        return content_hash([key, given]) if given else key


def _rows(count: int) -> str:
    """A number of rows, in words."""
    return f"{count} {'row' if count == 1 else 'rows'}"
