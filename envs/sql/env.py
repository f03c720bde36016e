"""SQL as an environment: a database in memory, four tools, a check of rows and of results."""

import random
from collections.abc import Sequence

import msgspec

from synth.envs.echo_check import state_verdicts
from synth.envs.sql.base.engines import Engine, Sqlite, quoted
from synth.envs.sql.base.facts import Tried, facts_of
from synth.envs.sql.base.results import StatementError, fingerprints, shown
from synth.envs.sql.base.schema import Database, ddl
from synth.envs.sql.base.sources import DatabaseSource, SqlConfig, engine_of
from synth.envs.sql.reverse import deeds
from synth.envs.sql.solving import GoalPlan
from synth.envs.sql.tools import OVER, SYSTEM_PROMPT, TOOLS, problem_of
from synth.schemas.canonical import canonical_json, content_hash, valid_text
from synth.schemas.check import CheckResult, Facts, Scalar
from synth.schemas.environment import AgentTurn, EnvSpec, Opening, Response, Snapshot
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.profile import spared
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, ToolCall, Trajectory
from synth.schemas.trajectory import Source as Says

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
    task: Task | None
    seat: _Seat


class SqlEnv:
    """One live database."""

    def __init__(self, spec: EnvSpec, config: SqlConfig, source: DatabaseSource) -> None:
        self.spec = spec
        self._config, self._source = config, source
        self._task: Task | None = None
        self._seat = _Seat()
        self._engine: Engine | None = None
        self._plan: tuple[str, GoalPlan, Tried] | None = None
        self._rows: dict[str, Scalar] | None = None
        self._rows_key: str | None = None
        self._start: Facts = {}

    async def reset(self, task: Task | None) -> Opening:
        """The database of the task, or that of the settings without one. Raises `ConfigError` where
        a user's file is another one now.
        """
        self._sit_down(task)
        goal = task.goal if task else "Look around and change what you like."
        return Opening(SYSTEM_PROMPT, TOOLS, (Observation(goal, Says.USER),), self._state_key())

    async def step(self, turn: AgentTurn) -> Response:
        """Answers each call of the turn; words without a call end the work."""
        self._seat.turns += 1
        if turn.tool_calls:
            observations = tuple(self._call(call) for call in turn.tool_calls)
        elif self._seat.over or not (turn.content or "").strip():
            text = OVER if self._seat.over else "Use the tools, or say that the work is done."
            observations = (Observation(text, Says.ENVIRONMENT, error=True),)
        else:
            self._seat.over = True
            observations = (Observation("Thank you.", Says.USER),)
        return Response(observations, self._state_key(), done=self._seat.over)

    async def check(self) -> CheckResult:
        """The task's predicates over all rows, and over what its answer gives."""
        return self._verdict(self._task, self._start, self._facts())

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
        if self._engine is not None:
            self._engine.close()
        if self._plan is not None:
            self._plan[2].close()
        self._engine = self._plan = None

    async def affordances(self) -> Sequence[AgentTurn]:
        """The schema, a look at each table, and changes that can be made now."""
        if self._seat.over:
            return ()
        turns = [self._act("schema")]
        tables = self._database.tables
        turns += [self._act("query", f"SELECT * FROM {quoted(one.name)} LIMIT 5") for one in tables]
        if isinstance(self._engine, Sqlite):
            turns += [self._act("change", sql) for sql in deeds(self._database, self._row_facts())]
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
            self._sit_down(saved.task)
        self._seat = saved.seat
        if isinstance(self._engine, Sqlite) and self._engine.changes != saved.seat.changes:
            self._engine.rewind(saved.seat.changes)
            self._rows = self._rows_key = None

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        """What is next after reading the goal: the schema, a look, the answer or the changes.
        `mixed` draws one misconception from the seed.
        """
        name, rid = spared(profile)
        if name == "mixed":
            name = random.Random(seed).choice(("correct", *self.spec.profiles))
        name = "correct" if name in rid else name
        if name not in ("correct", *self.spec.profiles):
            raise ValueError(f"{self.spec.name} has no expert profile {name!r}")
        if self._task is None:
            return UNCLEAR
        if self._plan is None or self._plan[0] != name:
            tried = Tried(self._source, self._seed, self._other)
            self._plan = (name, GoalPlan(tried, self._task.goal, name), tried)
        plan = self._plan[1]
        if not plan.readable:
            return UNCLEAR
        if not self._seat.seen:
            return self._act("schema")
        if not self._seat.looked:
            return self._act("query", plan.look())
        if plan.answer is not None:
            return self._act("answer", plan.answer)
        change = plan.next_change(self._seat.changes, self._row_facts())
        return AgentTurn("It is done.") if change is None else self._act("change", change)

    # what stands behind these

    @property
    def _seed(self) -> int:
        return (self._task.seed if self._task else self._config.explored_seed) % 2**31

    @property
    def _other(self) -> int:
        other = self._task.script.get("other", 1) if self._task else 1
        return other if isinstance(other, int) else 1

    @property
    def _database(self) -> Database:
        return self._source.database(self._seed, self._other)

    def _sit_down(self, task: Task | None) -> None:
        pinned = task.env_config.get("digest") if task else None
        if pinned is not None and pinned != self._source.digest:
            raise ConfigError("the database of this task is another one now: make its tasks anew")
        if self._engine is not None:
            self._engine.close()
        if self._plan is not None:
            self._plan[2].close()
        self._task, self._seat, self._plan = task, _Seat(), None
        self._rows = self._rows_key = None
        self._engine = self._open(second=False)
        self._start = self._facts()

    def _open(self, *, second: bool) -> Engine:
        return engine_of(self._config, self._source, self._seed, self._other, second=second)

    @property
    def _live(self) -> Engine:
        if self._engine is None:
            raise RuntimeError("sql: reset comes first")
        return self._engine

    def _act(self, tool: str, sql: str | None = None) -> AgentTurn:
        arguments = canonical_json({} if sql is None else {"sql": sql}).decode()
        return AgentTurn(
            tool_calls=(ToolCall.received(f"call_{self._seat.turns}", tool, arguments),)
        )

    def _call(self, call: ToolCall) -> Observation:
        """One call's answer."""
        problem = OVER if self._seat.over else problem_of(call)
        if problem is None:
            try:
                return self._said(call, self._do(call.name, call.parsed().get("sql", "")))
            except StatementError as error:
                problem = f"error: {error}"
        return self._said(call, problem, error=True)

    def _said(self, call: ToolCall, text: str, *, error: bool = False) -> Observation:
        return Observation(text, Says.TOOL, call.call_id, valid_text(call.name), error)

    def _do(self, tool: str, sql: str) -> str:
        """Does what a tool does. Raises `StatementError`."""
        match tool:
            case "schema":
                self._seat.seen = True
                return ddl(self._database)
            case "query":
                found = self._live.query(sql)
                self._seat.looked += 1
                return shown(found)
            case "change":
                if not isinstance(self._live, Sqlite):
                    raise StatementError("this database is for reading alone")
                count = self._live.change(sql)
                self._seat.changes.append(sql)
                self._rows = self._rows_key = None
                return f"{count} {'row' if count == 1 else 'rows'} changed"
            case _:
                return self._answer(sql)

    def _answer(self, sql: str) -> str:
        """Takes a query as the answer, if it runs here."""
        found = self._live.query(sql)
        ordered = " ORDER BY " in sql.upper()
        second = self._open(second=True)
        try:
            other = fingerprints(second.query(sql))
        except StatementError:
            other = {"": "refused"}
        finally:
            second.close()
        here = fingerprints(found)
        self._seat.answer = {
            **{f"main{kind}": value for kind, value in here.items()},
            **{f"other{kind}": value for kind, value in other.items()},
        }
        self._seat.over = True
        rows = len(found.rows)
        return f"Your answer is taken: {rows} {'row' if rows == 1 else 'rows'}, " + (
            "in the order given." if ordered else "in any order."
        )

    def _row_facts(self) -> dict[str, Scalar]:
        if self._rows is None:
            live = self._live
            self._rows = facts_of(live, self._database) if isinstance(live, Sqlite) else {}
        return self._rows

    def _facts(self) -> dict[str, Scalar]:
        answer = {f"answer/0/{name}": value for name, value in self._seat.answer.items()}
        return {**self._row_facts(), **answer}

    def _state_key(self) -> str:
        if self._rows is None or self._rows_key is None:
            self._rows_key = content_hash([self._seed, self._row_facts()])
        return (
            content_hash([self._rows_key, self._seat.answer])
            if self._seat.answer
            else (self._rows_key)
        )

    def _verdict(self, task: Task | None, start: Facts, end: Facts) -> CheckResult:
        changed = {path: value for path, value in end.items() if start.get(path) != value}
        changed |= {path: None for path in start if path not in end}
        if task is None or task.check is None:
            return CheckResult(False, facts=changed, version=self.spec.version)
        parts = state_verdicts(task.check, start, end)
        return CheckResult(all(part.passed for part in parts), parts, changed, self.spec.version)
