"""Echo: the smallest environment that has everything, for tests and benchmarks; trouble can be
planned in its settings.
"""

import asyncio
import secrets
import time
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from synth.envs.echo_check import judged
from synth.envs.echo_settings import SPEC, SYSTEM_PROMPT, TEXTS, TOOLS, WORDS, EchoConfig
from synth.envs.episode import answer, call_turn, done_again, fits, profile_of
from synth.envs.world import EnvEntry
from synth.schemas import (
    AgentTurn,
    Check,
    CheckResult,
    Env,
    EnvSpec,
    Facts,
    Observation,
    Opening,
    Response,
    RowPredicate,
    Scalar,
    Snapshot,
    Source,
    Task,
    ToolCall,
    Trajectory,
    content_hash,
    valid_text,
)

__all__ = [
    "SPEC",
    "SYSTEM_PROMPT",
    "TOOLS",
    "WORDS",
    "WORLD",
    "EchoConfig",
    "EchoEnv",
    "make_tasks",
    "open_echo",
]
LONGEST_TEXT = 1000
GOAL = TEXTS["goal"]
_START: Facts = {"session/0/finished": False}
_PROCESS_TOKEN = secrets.token_hex(4)  # what drifts: another value in every process


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
        goal = Observation(task.goal if task else TEXTS["explore"], Source.USER)
        return Opening(SYSTEM_PROMPT, TOOLS, (goal,), self._desk.state_key)

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
        observations = [self._call(call) for call in turn.tool_calls]
        if not observations:
            observations = [self._answer_to_text(turn.content or "")]
        if index == config.drift_at_turn:
            drifted = f"{observations[0].content} {_PROCESS_TOKEN}"
            observations[0] = msgspec.structs.replace(observations[0], content=drifted)

        return Response(tuple(observations), desk.state_key, done=desk.finished)

    async def check(self) -> CheckResult:
        """The task's predicates over the facts."""
        if self._config.raise_in_check:
            raise RuntimeError("planned: echo raises in check")
        check = self._task.check if self._task else None
        return judged(check, _START, self._facts(), SPEC.version)

    async def close(self) -> None:
        """Holds nothing."""

    async def affordances(self) -> Sequence[AgentTurn]:
        """Echo any word of the goal (of the vocabulary, without a task), or finish."""
        if self._desk.finished:
            return ()
        words = tuple(dict.fromkeys(self._words())) or WORDS
        return (*map(self._say, words), self._say(None))

    async def facts(self) -> Facts:
        """`said/<place>/text` and `session/0/finished`."""
        return self._facts()

    async def snapshot(self) -> Snapshot:
        """Task and desk as JSON."""
        blob = msgspec.json.encode(_SavedGame(self._task, self._desk))
        return Snapshot(SPEC.name, SPEC.version, blob)

    async def restore(self, snapshot: Snapshot) -> None:
        """The desk as it was put aside. Raises `UnfitError` for another environment's snapshot."""
        saved = msgspec.json.decode(fits(snapshot, SPEC), type=_SavedGame)
        self._task, self._desk = saved.task, saved.desk

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        """The next word asked for, else finish; `mixed` draws one profile from the seed."""

        chosen, words = profile_of(SPEC, profile, seed), self._words()
        if chosen == "stops_early":
            words = words[:-1]
        elif chosen == "stutters":
            words = (*words[:1], *words)

        done = len(self._desk.said)

        return self._say(words[done] if done < len(words) else None)

    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult:
        """The task's present check, over the recorded turns done again at an untroubled desk."""
        return await done_again(EchoEnv(EchoConfig()), task, trajectory)

    def _answer_to_text(self, text: str) -> Observation:
        """The answer to a turn without calls."""
        if not self._desk.finished and text.strip():
            return Observation("Please use the tools.", Source.USER)
        why = TEXTS["finished"] if self._desk.finished else TEXTS["empty"]
        return Observation(why, Source.ENVIRONMENT, error=True)

    def _call(self, call: ToolCall) -> Observation:
        """One call's answer."""

        problem = self._problem(call)
        if problem is not None:
            return answer(call, problem, failed=True)
        desk, said = self._desk, "Done."
        if call.name == "finish":
            desk.finished = True
            desk.state_key = content_hash([desk.state_key])
        else:
            desk.said.append(valid_text(call.parsed()["text"]))
            desk.state_key = content_hash([desk.state_key, desk.said[-1]])
            said = desk.said[-1] + self._payload

        return answer(call, said)

    def _problem(self, call: ToolCall) -> str | None:
        """Why a call is refused."""

        if self._desk.finished:
            return str(TEXTS["finished"])
        if call.name not in ("echo", "finish"):
            return f"There is no tool {call.name[:80]!r}; the tools are echo and finish."
        if call.parse_error is not None:
            return call.parse_error

        arguments, echoes = call.parsed(), call.name == "echo"
        if list(arguments) != ["text"] * echoes:
            return f"`{call.name}` takes {'one argument, text' if echoes else 'no arguments'}."
        text = arguments.get("text", "")
        if not isinstance(text, str) or len(text) > LONGEST_TEXT:
            return f"`text` must be a string of at most {LONGEST_TEXT} characters."

        return None

    def _facts(self) -> dict[str, Scalar]:
        said = {f"said/{place}/text": text for place, text in enumerate(self._desk.said)}
        return {**said, "session/0/finished": self._desk.finished}

    def _words(self) -> tuple[str, ...]:
        """The words asked for, in order, as the goal says them; none where it says otherwise."""
        asked, said, words = (self._task.goal if self._task else "").partition(GOAL)
        return tuple(words.split()) if said and not asked else ()

    def _say(self, word: str | None) -> AgentTurn:
        """A turn that echoes a word; without one, the turn that finishes."""
        name, arguments = ("finish", {}) if word is None else ("echo", {"text": word})
        return call_turn(self._desk.turns, name, arguments)


def _block(seconds: float) -> None:
    """Computes, as far as an event loop can tell."""
    time.sleep(seconds)


def open_echo(config: Mapping[str, Any]) -> Env:
    """An echo desk. Raises pydantic's `ValidationError` for settings it does not know."""
    return EchoEnv(EchoConfig.model_validate(dict(config)))


def make_tasks(config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    """Tasks "echo these words in order, then finish", each with its own words."""
    turns = EchoConfig.model_validate(dict(config)).turns
    return tuple(_task(dict(config), turns, seed, number) for number in range(count))


def _task(config: dict[str, Any], turns: int, seed: int, number: int) -> Task:
    words = Random(f"echo {seed} {number}").choices(WORDS, k=turns)
    said = [RowPredicate("said", {"id": str(at), "text": word}) for at, word in enumerate(words)]

    return Task.identified(
        env=SPEC.name,
        env_config=config,
        goal=GOAL + " ".join(words),
        seed=(seed * 1_000_003 + number) % 2**63,
        check=Check(required=(*said, RowPredicate("session", {"id": "0", "finished": True}))),
    )


WORLD = EnvEntry(SPEC, open_echo, make_tasks, EchoConfig)
