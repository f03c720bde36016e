"""Echo: the smallest world that has everything, for tests and benchmarks; trouble can be planned in
its settings.
"""

import asyncio
import secrets
import time
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from synth.envs.echo_check import state_verdicts
from synth.envs.world import EnvEntry
from synth.schemas.canonical import content_hash, valid_text
from synth.schemas.check import Check, CheckResult, Facts, RowPredicate, Scalar
from synth.schemas.environment import AgentTurn, Env, EnvSpec, Opening, Response, Snapshot
from synth.schemas.profile import spared
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, ToolCall, ToolSchema, Trajectory

SPEC = EnvSpec(
    name="echo",
    version="1",
    licence="Apache-2.0",
    capabilities=frozenset({"affordances", "facts", "snapshot", "expert", "recheck", "tasks"}),
    memory_bytes=4096,
    facts={"said/*/text": "required", "session/*/finished": "required"},
    profiles=("stops_early", "stutters"),
)
WORDS = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "inlet",
    "jetty",
    "kelp",
    "lagoon",
)
LONGEST_TEXT = 1000
FINISHED = "The work is finished; nothing more can be done."
SYSTEM_PROMPT = (
    "You work the echo desk. Call `echo` once per word, in the order asked for, then call `finish`."
)
TOOLS: tuple[ToolSchema, ...] = (
    {
        "type": "function",
        "function": {
            "name": "echo",
            "description": "Says a text back.",
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "finish",
            "description": "Ends the work.",
            "parameters": {"type": "object", "properties": {}},
        },
    },
)
_PROCESS_TOKEN = secrets.token_hex(4)  # what drifts: another value in every process


class EchoConfig(BaseModel):
    """Size of an episode (`turns` = words to echo), its weight, and planned trouble (turns count
    from 0).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    turns: int = Field(default=8, ge=1, le=1000)
    payload_bytes: int = Field(default=0, ge=0, le=1 << 20)
    step_ms: float = Field(default=0, ge=0, le=60_000)
    blocking_ms: float = Field(default=0, ge=0, le=10_000)
    fail_at_turn: int | None = None
    hang_at_turn: int | None = None
    drift_at_turn: int | None = None
    raise_in_check: bool = False


class _Desk(msgspec.Struct):
    """The whole state: what was said, whether the work is finished, and how many turns were
    taken.
    """

    said: list[str] = []
    finished: bool = False
    turns: int = 0
    state_key: str = ""


class _SavedGame(msgspec.Struct, frozen=True):
    task: Task | None
    desk: _Desk


class EchoEnv:
    """One live echo desk."""

    def __init__(self, config: EchoConfig) -> None:
        self._config = config
        self._task: Task | None = None
        self._desk = _Desk()
        self._payload = "." * config.payload_bytes

    @property
    def spec(self) -> EnvSpec:
        """Echo's spec; `blocking` where the settings make its steps block."""
        return msgspec.structs.replace(SPEC, blocking=True) if self._config.blocking_ms else SPEC

    async def reset(self, task: Task | None) -> Opening:
        """A fresh desk; without a task, one at which nothing is asked for."""
        self._task = task
        self._desk = _Desk(state_key=content_hash([]))
        goal = task.goal if task else "Echo what you like, then finish."
        return Opening(
            SYSTEM_PROMPT, TOOLS, (Observation(goal, Source.USER),), self._desk.state_key
        )

    async def step(self, turn: AgentTurn) -> Response:
        """Answers each call of the turn; text is answered by the user."""
        config, desk = self._config, self._desk
        index = desk.turns
        if config.step_ms:
            await asyncio.sleep(config.step_ms / 1000)
        if config.blocking_ms:
            _block(config.blocking_ms / 1000)
        if index == config.fail_at_turn:
            raise RuntimeError(f"planned: echo fails at turn {index}")
        if index == config.hang_at_turn:
            await asyncio.Event().wait()
        desk.turns += 1
        observations = tuple(self._call(call) for call in turn.tool_calls)
        if not observations:
            observations = (self._answer_to_text(turn.content or ""),)
        if index == config.drift_at_turn:
            first = msgspec.structs.replace(
                observations[0], content=f"{observations[0].content} {_PROCESS_TOKEN}"
            )
            observations = (first, *observations[1:])
        return self._response(observations)

    async def check(self) -> CheckResult:
        """The task's predicates over the facts."""
        if self._config.raise_in_check:
            raise RuntimeError("planned: echo raises in check")
        facts = self._facts()
        changed = {path: value for path, value in facts.items() if _START.get(path) != value}
        if self._task is None or self._task.check is None:
            return CheckResult(False, facts=changed, version=SPEC.version)
        parts = state_verdicts(self._task.check, _START, facts)
        return CheckResult(all(part.passed for part in parts), parts, changed, SPEC.version)

    async def close(self) -> None:
        """Holds nothing."""

    async def affordances(self) -> Sequence[AgentTurn]:
        """Echo any word of the goal (of the vocabulary, without a task), or finish."""
        if self._desk.finished:
            return ()
        words = tuple(dict.fromkeys(self._words())) or WORDS
        return (*(_say(word, self._desk.turns) for word in words), _finish(self._desk.turns))

    async def facts(self) -> Facts:
        """`said/<place>/text` and `session/0/finished`."""
        return self._facts()

    async def snapshot(self) -> Snapshot:
        """Task and desk as JSON."""
        return Snapshot(
            SPEC.name, SPEC.version, msgspec.json.encode(_SavedGame(self._task, self._desk))
        )

    async def restore(self, snapshot: Snapshot) -> None:
        """The desk as it was put aside. Raises `ValueError` for another world's snapshot."""
        if (snapshot.env, snapshot.version) != (SPEC.name, SPEC.version):
            raise ValueError(
                f"a snapshot of {snapshot.env} {snapshot.version} does not fit echo {SPEC.version}"
            )
        saved = msgspec.json.decode(snapshot.blob, type=_SavedGame)
        self._task, self._desk = saved.task, saved.desk

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        """The next word asked for, else finish; `mixed` draws one profile from the seed."""
        name, rid = spared(profile)
        chosen = Random(seed).choice(("correct", *SPEC.profiles)) if name == "mixed" else name
        chosen = "correct" if chosen in rid else chosen
        if chosen not in ("correct", *SPEC.profiles):
            raise ValueError(
                f"echo has no expert profile {chosen!r}; it has correct, mixed, "
                f"{', '.join(SPEC.profiles)}"
            )
        words = self._words()
        if chosen == "stops_early":
            words = words[:-1]
        elif chosen == "stutters":
            words = (*words[:1], *words)
        done = len(self._desk.said)
        return (
            _say(words[done], self._desk.turns) if done < len(words) else _finish(self._desk.turns)
        )

    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult:
        """The task's present check, over the recorded turns done again at an untroubled desk."""
        desk = EchoEnv(EchoConfig())
        await desk.reset(task)
        for turn in trajectory.turns:
            await desk.step(AgentTurn(turn.content, turn.tool_calls))
        return await desk.check()

    def _answer_to_text(self, text: str) -> Observation:
        """The answer to a turn without calls."""
        if self._desk.finished:
            return Observation(FINISHED, Source.ENVIRONMENT, error=True)
        if not text.strip():
            return Observation(
                "An empty turn does nothing: call `echo` or `finish`.",
                Source.ENVIRONMENT,
                error=True,
            )
        return Observation("Please use the tools.", Source.USER)

    def _call(self, call: ToolCall) -> Observation:
        """One call's answer."""

        def answer(content: str, *, error: bool = False) -> Observation:
            return Observation(
                valid_text(content), Source.TOOL, call.call_id, valid_text(call.name), error
            )

        desk = self._desk
        if desk.finished:
            return answer(FINISHED, error=True)
        if call.name not in ("echo", "finish"):
            return answer(
                f"There is no tool {call.name[:80]!r}; the tools are echo and finish.", error=True
            )
        if call.parse_error is not None:
            return answer(call.parse_error, error=True)
        arguments = call.parsed()
        wanted = {"echo": {"text"}, "finish": set()}[call.name]
        if arguments.keys() != wanted:
            return answer(
                f"`{call.name}` takes {'one argument, text' if wanted else 'no arguments'}.",
                error=True,
            )
        if call.name == "finish":
            desk.finished = True
            desk.state_key = content_hash([desk.state_key])
            return answer("Done.")
        text = arguments["text"]
        if not isinstance(text, str) or len(text) > LONGEST_TEXT:
            return answer(
                f"`text` must be a string of at most {LONGEST_TEXT} characters.", error=True
            )
        desk.said.append(valid_text(text))
        desk.state_key = content_hash([desk.state_key, desk.said[-1]])
        return answer(text + self._payload)

    def _response(self, observations: tuple[Observation, ...]) -> Response:
        return Response(observations, self._desk.state_key, done=self._desk.finished)

    def _facts(self) -> dict[str, Scalar]:
        said: dict[str, Scalar] = {
            f"said/{place}/text": text for place, text in enumerate(self._desk.said)
        }
        return said | {"session/0/finished": self._desk.finished}

    def _words(self) -> tuple[str, ...]:
        """The words asked for, in order: what the goal predicates say."""
        check = self._task.check if self._task else None
        rows = (
            [row.where for row in check.required if row.table == "said" and "text" in row.where]
            if check
            else []
        )
        return tuple(
            str(row["text"]) for row in sorted(rows, key=lambda row: int(str(row.get("id", 0))))
        )


_START: dict[str, Scalar] = {"session/0/finished": False}


def _block(seconds: float) -> None:
    """Computes, as far as an event loop can tell."""
    time.sleep(seconds)


def _say(word: str, turn: int) -> AgentTurn:
    return AgentTurn(
        tool_calls=(
            ToolCall.received(f"call_{turn}", "echo", msgspec.json.encode({"text": word}).decode()),
        )
    )


def _finish(turn: int) -> AgentTurn:
    return AgentTurn(tool_calls=(ToolCall.received(f"call_{turn}", "finish", "{}"),))


def open_echo(config: Mapping[str, Any]) -> Env:
    """An echo desk. Raises pydantic's `ValidationError` for settings it does not know."""
    return EchoEnv(EchoConfig.model_validate(dict(config)))


def make_tasks(config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    """Tasks "echo these words in order, then finish", each with its own words."""
    turns = EchoConfig.model_validate(dict(config)).turns
    return tuple(_task(dict(config), turns, seed, number) for number in range(count))


def _task(config: dict[str, Any], turns: int, seed: int, number: int) -> Task:
    words = Random(f"echo {seed} {number}").choices(WORDS, k=turns)
    required = [
        RowPredicate("said", {"id": str(place), "text": word}) for place, word in enumerate(words)
    ]
    return Task.identified(
        env=SPEC.name,
        env_config=config,
        goal=f"Echo these words in order, one call each, then finish: {' '.join(words)}",
        seed=(seed * 1_000_003 + number) % 2**63,
        check=Check(required=(*required, RowPredicate("session", {"id": "0", "finished": True}))),
    )


WORLD = EnvEntry(SPEC, open_echo, make_tasks, EchoConfig)
