"""SQL as an environment: a database in memory, four tools, a check of rows and of results."""

from collections.abc import Sequence
from random import Random

import msgspec

from synth.envs.echo_check import state_verdicts
from synth.envs.sql.database.answers import beside, given_by
from synth.envs.sql.database.engines import Sqlite
from synth.envs.sql.database.results import StatementError, fingerprints, shown
from synth.envs.sql.database.schema import quoted
from synth.envs.sql.database.sources import DatabaseSource, Engine, SqlConfig
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.expert import GoalPlan
from synth.envs.sql.reverse import possible_changes
from synth.envs.sql.tools import OVER, SYSTEM_PROMPT, TOOLS, problem_of
from synth.schemas import (
    AgentTurn,
    CheckResult,
    ConfigError,
    EnvSpec,
    Facts,
    Observation,
    Opening,
    Response,
    Scalar,
    Snapshot,
    Source,
    SynthError,
    Task,
    ToolCall,
    Trajectory,
    canonical_json,
    content_hash,
    spared,
    valid_text,
)

UNCLEAR = AgentTurn("I do not understand what is asked for.")


class _Seat(msgspec.Struct):
    """All of an episode but the rows, which follow from the changes."""

    changes: list[str] = []
    answer: dict[str, str] = {}
    seen: bool = False
    looked: int = 0
    over: bool = False
    turns: int = 0


class _Saved(msgspec.Struct, frozen=True):
    """An episode put aside."""

    task: Task | None
    seat: _Seat


class SqlEnv:
    """One live database."""

    def __init__(self, spec: EnvSpec, config: SqlConfig, source: DatabaseSource) -> None:
        self.spec = spec
        self._config, self._source = config, source
        self._seat = _Seat()
        self._engine: Engine | None = None
        self._plan: GoalPlan | None = None
        self._rows: tuple[dict[str, Scalar], str] | None = None
        self._start: Facts = {}
        self._place(None)

    async def reset(self, task: Task | None) -> Opening:
        """The database of the task, or that of the settings without one.

        Raises `ConfigError` where a user's file is another one now.
        """
        await self._begin(task)
        goal = task.goal if task else "Look around and change what you like."

        return Opening(SYSTEM_PROMPT, TOOLS, (Observation(goal, Source.USER),), self._state_key())

    async def step(self, turn: AgentTurn) -> Response:
        """Answers each call of the turn; words without a call end the work."""
        seat = self._seat
        seat.turns += 1

        if turn.tool_calls:
            observations = tuple(map(self._called, turn.tool_calls))
        elif seat.over or not (turn.content or "").strip():
            text = OVER if seat.over else "Use the tools, or say that the work is done."
            observations = (Observation(text, Source.ENVIRONMENT, error=True),)
        else:
            seat.over = True
            observations = (Observation("Thank you.", Source.USER),)

        return Response(observations, self._state_key(), done=seat.over)

    async def check(self) -> CheckResult:
        """The task's predicates over all rows, and over what its answer gives."""
        start, end, version = self._start, self._facts(), self.spec.version
        changed = {path: value for path, value in end.items() if start.get(path) != value}
        changed |= dict.fromkeys(path for path in start if path not in end)
        if self._task is None or self._task.check is None:
            return CheckResult(False, facts=changed, version=version)

        parts = state_verdicts(self._task.check, start, end)

        return CheckResult(all(part.passed for part in parts), parts, changed, version)

    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult:
        """The same check, over the recorded turns done again."""
        again = SqlEnv(self.spec, self._config, self._source)

        try:
            await again.reset(task)
            for turn in trajectory.turns:
                await again.step(AgentTurn(turn.content, turn.tool_calls))

            return await again.check()
        finally:
            await again.close()

    async def close(self) -> None:
        """Lets the databases go."""
        for held in (self._engine, self._plan):
            if held is not None:
                held.close()

        self._engine = self._plan = None

    async def affordances(self) -> Sequence[AgentTurn]:
        """The schema, a look at each table, and changes that can be made now."""
        if self._seat.over:
            return ()
        turns = [self._act("schema")]
        for table in self._database.tables:
            turns.append(self._act("query", f"SELECT * FROM {quoted(table.name)} LIMIT 5"))

        if isinstance(self._engine, Sqlite):
            changes = possible_changes(self._database, self._row_facts()[0])
            turns += [self._act("change", sql) for sql in changes]

        return turns

    async def facts(self) -> Facts:
        """`table/key/column`, and of an answer what it gives on both databases, as hashes."""
        return self._facts()

    async def snapshot(self) -> Snapshot:
        """The changes in their order: going back is a rollback to where both part."""
        blob = msgspec.json.encode(_Saved(self._task, self._seat))
        return Snapshot(self.spec.name, self.spec.version, blob)

    async def restore(self, snapshot: Snapshot) -> None:
        """Goes on from a snapshot. Raises `SynthError` for one of another world or version."""
        if (snapshot.env, snapshot.version) != (self.spec.name, self.spec.version):
            raise SynthError(
                f"snapshot of {snapshot.env} {snapshot.version} cannot be restored in "
                f"{self.spec.name} {self.spec.version}"
            )

        saved = msgspec.json.decode(snapshot.blob, type=_Saved)
        if self._engine is None or self._task != saved.task:
            await self._begin(saved.task)

        self._seat = saved.seat

        if isinstance(self._engine, Sqlite) and self._engine.changes != saved.seat.changes:
            self._engine.rewind(saved.seat.changes)
            self._rows = None

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        """What is next after reading the goal: the schema, a look, the answer or the changes.

        `mixed` draws one misconception from the seed.
        """
        name, rid = spared(profile)
        known = ("correct", *self.spec.profiles)
        name = Random(seed).choice(known) if name == "mixed" else name
        name = "correct" if name in rid else name
        if name not in known:
            raise ValueError(f"{self.spec.name} has no expert profile {name!r}")

        if self._task is None:
            return UNCLEAR
        if self._plan is None or self._plan.profile != name:
            databases = TaskDatabases(self._source, self._seed, self._beside.other)
            self._plan = GoalPlan(databases, self._task.goal, name)

        plan, seat = self._plan, self._seat
        if not plan.readable:
            return UNCLEAR
        if not seat.seen:
            return self._act("schema")
        if not seat.looked:
            return self._act("query", plan.look())
        if plan.answer is not None:
            return self._act("answer", plan.answer)
        change = plan.next_change(seat.changes, self._row_facts()[0])

        return AgentTurn("It is done.") if change is None else self._act("change", change)

    def _place(self, task: Task | None) -> None:
        """Which database the episode takes place in, and which one stands beside it."""
        self._task = task
        self._seed = (task.seed if task else self._config.explored_seed) % 2**31
        self._beside = beside(task)
        self._database = self._source.database(self._seed)

    async def _begin(self, task: Task | None) -> None:
        """Opens the database of a task. Raises `ConfigError` for another file."""
        pinned = task.env_config.get("digest") if task else None
        if pinned is not None and pinned != self._source.digest:
            raise ConfigError("the database of this task is another one now: make its tasks anew")

        await self.close()
        self._place(task)
        self._seat, self._rows = _Seat(), None
        self._engine = self._config.opened(self._database)
        self._start = self._facts()

    @property
    def _live(self) -> Engine:
        """The open database."""
        if self._engine is None:
            raise RuntimeError("sql: reset comes first")
        return self._engine

    def _act(self, tool: str, sql: str | None = None) -> AgentTurn:
        """A turn of one call."""
        arguments = canonical_json({} if sql is None else {"sql": sql}).decode()
        call = ToolCall.received(f"call_{self._seat.turns}", tool, arguments)
        return AgentTurn(tool_calls=(call,))

    def _called(self, call: ToolCall) -> Observation:
        """One call's answer."""
        problem = OVER if self._seat.over else problem_of(call)
        text = problem or ""

        if problem is None:
            try:
                text = self._done(call.name, call.parsed().get("sql", ""))
            except StatementError as error:
                problem = text = f"error: {error}"

        name = valid_text(call.name)

        return Observation(text, Source.TOOL, call.call_id, name, problem is not None)

    def _done(self, tool: str, sql: str) -> str:
        """Does what a tool does. Raises `StatementError`."""
        match tool:
            case "schema":
                self._seat.seen = True
                return self._database.ddl
            case "query":
                found = self._live.query(sql)
                self._seat.looked += 1
                return shown(found)
            case "change":
                if not isinstance(self._live, Sqlite):
                    raise StatementError("this database is for reading alone")

                count = self._live.change(sql)
                self._seat.changes.append(sql)
                self._rows = None

                return f"{_rows(count)} changed"
            case _:
                return self._answered(sql)

    def _answered(self, sql: str) -> str:
        """Takes a query as the answer, if it runs here."""
        found = self._live.query(sql)
        answer = {f"main{kind}": value for kind, value in fingerprints(found).items()}
        answer |= given_by(sql, self._config, self._source, self._seed, self._beside)
        self._seat.answer = answer
        self._seat.over = True
        order = "in the order given." if " ORDER BY " in sql.upper() else "in any order."

        return f"Your answer is taken: {_rows(len(found.rows))}, {order}"

    def _row_facts(self) -> tuple[dict[str, Scalar], str]:
        """The facts of all rows, with a hash of them; read again after each change."""
        if self._rows is None:
            live = self._live
            facts = live.facts() if isinstance(live, Sqlite) else {}
            self._rows = facts, content_hash([self._seed, facts])

        return self._rows

    def _facts(self) -> dict[str, Scalar]:
        """Facts of rows, then those of the answer."""
        answer = {f"answer/0/{name}": value for name, value in self._seat.answer.items()}
        return {**self._row_facts()[0], **answer}

    def _state_key(self) -> str:
        """The same for equal rows and answers."""
        answer, (_, key) = self._seat.answer, self._row_facts()
        return content_hash([key, answer]) if answer else key


def _rows(count: int) -> str:
    """A number of rows, in words."""
    return f"{count} {'row' if count == 1 else 'rows'}"
