"""SQL as an environment: a database in memory, four tools, a check of rows and of results."""

from collections.abc import Sequence
from random import Random

import msgspec

from synth.envs.echo_check import state_verdicts
from synth.envs.episode import LastWords, call_turn, done_again
from synth.envs.sql.database.engines import Sqlite
from synth.envs.sql.database.schema import quoted
from synth.envs.sql.database.sources import DatabaseSource, SqlConfig
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.expert import GoalPlan
from synth.envs.sql.reverse import possible_changes
from synth.envs.sql.session import Seat, Session
from synth.envs.sql.tools import OVER, SYSTEM_PROMPT, TOOLS
from synth.schemas import (
    AgentTurn,
    CheckResult,
    ConfigError,
    EnvSpec,
    Facts,
    Observation,
    Opening,
    Response,
    Snapshot,
    Source,
    SynthError,
    Task,
    Trajectory,
    spared,
)

LAST_WORDS = LastWords(OVER, "Use the tools, or say that the work is done.")
UNCLEAR = AgentTurn("I do not understand what is asked for.")


class _Saved(msgspec.Struct, frozen=True):
    """An episode put aside."""

    task: Task | None
    seat: Seat


class SqlEnv:
    """One live database."""

    def __init__(self, spec: EnvSpec, config: SqlConfig, source: DatabaseSource) -> None:
        self.spec = spec
        self._config, self._source = config, source
        self._task: Task | None = None
        self._session = Session(config, source, None)
        self._plan: GoalPlan | None = None
        self._start: Facts = {}

    async def reset(self, task: Task | None) -> Opening:
        """The database of the task, or that of the settings without one.

        Raises `ConfigError` where a user's file is another one now.
        """
        await self._begin(task)
        goal = task.goal if task else "Look around and change what you like."

        return Opening(
            SYSTEM_PROMPT, TOOLS, (Observation(goal, Source.USER),), self._session.state_key()
        )

    async def step(self, turn: AgentTurn) -> Response:
        """Answers each call of the turn; words without a call end the work."""
        seat = self._session.seat
        seat.turns += 1

        observations = tuple(map(self._session.called, turn.tool_calls))
        if not observations:
            said, seat.over = LAST_WORDS.answer(turn, over=seat.over)
            observations = (said,)

        return Response(observations, self._session.state_key(), done=seat.over)

    async def check(self) -> CheckResult:
        """The task's predicates over all rows, and over what its answer gives."""
        start, end, version = self._start, self._session.facts(), self.spec.version
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
            return await done_again(again, task, trajectory)
        finally:
            await again.close()

    async def close(self) -> None:
        """Lets the databases go."""
        self._session.close()
        if self._plan is not None:
            self._plan.close()

        self._plan = None

    async def affordances(self) -> Sequence[AgentTurn]:
        """The schema, a look at each table, and changes that can be made now."""
        if self._session.seat.over:
            return ()
        turns = [self._act("schema")]
        for table in self._session.database.tables:
            turns.append(self._act("query", f"SELECT * FROM {quoted(table.name)} LIMIT 5"))

        if isinstance(self._session.engine, Sqlite):
            changes = possible_changes(self._session.database, self._session.row_facts()[0])
            turns += [self._act("change", sql) for sql in changes]

        return turns

    async def facts(self) -> Facts:
        """`table/key/column`, and of an answer what it gives on both databases, as hashes."""
        return self._session.facts()

    async def snapshot(self) -> Snapshot:
        """The changes in their order: going back is a rollback to where both part."""
        blob = msgspec.json.encode(_Saved(self._task, self._session.seat))
        return Snapshot(self.spec.name, self.spec.version, blob)

    async def restore(self, snapshot: Snapshot) -> None:
        """Goes on from a snapshot. Raises `SynthError` for one of another world or version."""
        if (snapshot.env, snapshot.version) != (self.spec.name, self.spec.version):
            raise SynthError(
                f"snapshot of {snapshot.env} {snapshot.version} cannot be restored in "
                f"{self.spec.name} {self.spec.version}"
            )

        saved = msgspec.json.decode(snapshot.blob, type=_Saved)
        if self._session.engine is None or self._task != saved.task:
            await self._begin(saved.task)

        self._session.go_on(saved.seat)

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
        plan, seat = self._planned(self._task.goal, name), self._session.seat
        if not plan.readable:
            return UNCLEAR
        if not seat.seen:
            return self._act("schema")
        if not seat.looked:
            return self._act("query", plan.look())
        if plan.answer is not None:
            return self._act("answer", plan.answer)
        change = plan.next_change(seat.changes, self._session.row_facts()[0])

        return AgentTurn("It is done.") if change is None else self._act("change", change)

    def _planned(self, goal: str, profile: str) -> GoalPlan:
        """The plan of a profile, made when it is first asked for."""
        if self._plan is None or self._plan.profile != profile:
            databases = TaskDatabases(self._source, self._session.seed, self._session.beside.other)
            self._plan = GoalPlan(databases, goal, profile)

        return self._plan

    async def _begin(self, task: Task | None) -> None:
        """Opens the database of a task. Raises `ConfigError` for another file."""
        pinned = task.env_config.get("digest") if task else None
        if pinned is not None and pinned != self._source.digest:
            raise ConfigError("the database of this task is another one now: make its tasks anew")

        await self.close()
        self._task = task
        self._session = Session(self._config, self._source, task)
        self._session.open()
        self._start = self._session.facts()

    def _act(self, tool: str, sql: str | None = None) -> AgentTurn:
        """A turn of one call."""
        return call_turn(self._session.seat.turns, tool, {} if sql is None else {"sql": sql})
