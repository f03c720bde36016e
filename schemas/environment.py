"""The protocol that every world speaks, what crosses it, and the rules by which a world answers:
every call is answered once, by its id, and nothing else is called an answer.

A model server refuses a transcript that breaks the rules, a chat template renders it as another
conversation, and a trainer learns from that. docs/your-environment.md has them as a table.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from synth.schemas.canonical import StrictRecord, valid_text
from synth.schemas.check import CheckResult, Facts
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, ToolCall, ToolSchema, Trajectory


class EnvSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a world is and can do.

    `capabilities`: affordances, facts, snapshot, expert, recheck, tasks. `deterministic`: same seed
    and actions give the same
    normalised observations. `blocking`: its methods compute for long and are stepped on threads.
    `facts`: path pattern ->
    required | free | protected | generated. `profiles`: names of misconceptions that its expert can
    be given (read them with
    `synth.schemas.environment.spared`: guidance may rid it of some).
    """

    name: str
    version: str
    licence: str
    capabilities: frozenset[str] = frozenset()
    deterministic: bool = True
    blocking: bool = False
    memory_bytes: int = 0
    facts: Mapping[str, str] = msgspec.field(default_factory=dict)
    profiles: tuple[str, ...] = ()


class AgentTurn(StrictRecord, frozen=True):
    """What an agent does in one turn: text, calls, or both."""

    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    thought: str | None = None


class Opening(msgspec.Struct, frozen=True):
    """What the agent sees before its first turn; `greeting` is a canned assistant message, never
    trained on.
    """

    system_prompt: str | None
    tools: tuple[ToolSchema, ...]
    observations: tuple[Observation, ...]
    state_key: str | None = None
    greeting: str | None = None


class Response(msgspec.Struct, frozen=True):
    """What the world answers to a turn; `done` ends the episode."""

    observations: tuple[Observation, ...]
    state_key: str | None = None
    reward: float | None = None
    done: bool = False


class Snapshot(msgspec.Struct, frozen=True):
    """A world put aside: enough bytes to go on from the same state in another instance of the same
    world and version.
    """

    env: str
    version: str
    blob: bytes


class Env(Protocol):
    """One live world. Methods beyond `close` exist where `spec.capabilities` names them.

    Whatever an agent does (unknown tools, arguments that are no JSON, turns after the end) is
    answered by an error
    observation; exceptions are the world's own faults.
    """

    @property
    def spec(self) -> EnvSpec: ...
    async def reset(self, task: Task | None) -> Opening: ...
    async def step(self, turn: AgentTurn) -> Response: ...
    async def check(self) -> CheckResult: ...
    async def close(self) -> None: ...
    async def affordances(self) -> Sequence[AgentTurn]: ...
    async def facts(self) -> Facts: ...
    async def snapshot(self) -> Snapshot: ...
    async def restore(self, snapshot: Snapshot) -> None: ...
    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn: ...
    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult: ...


OpenEnv = Callable[[str, Mapping[str, Any]], Env]
"""Opens a world by name and configuration; raises `ConfigError` for names and settings it does not
know.
"""

MakeTasks = Callable[[str, Mapping[str, Any], int, int], Sequence[Task]]
"""(world, configuration, seed, count) -> that many tasks, the same ones each time."""

_WITHOUT = " without "


def without(profile: str, names: frozenset[str]) -> str:
    """The profile but for some misconceptions; a profile that is one of them leaves `correct`."""
    if profile in names:
        return "correct"
    return (
        f"{profile}{_WITHOUT}{','.join(sorted(names))}"
        if names and profile != "correct"
        else profile
    )


def spared(profile: str | None) -> tuple[str, frozenset[str]]:
    """The name, `correct` where there is none, and what it is without."""
    name, _, names = (profile or "correct").partition(_WITHOUT)
    return name, frozenset(filter(None, names.split(",")))


class Violation(msgspec.Struct, frozen=True):
    """A rule that was broken, under a short stable name, and what broke it."""

    rule: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"


def opening_violation(observations: Sequence[Observation]) -> Violation | None:
    """What is wrong with the observations before the first turn: nothing has been called yet."""
    for at, given in enumerate(observations):
        if given.source is Source.TOOL:
            return Violation(
                "answer_without_call",
                f"observations[{at}] is a tool's, and nothing was called before the first turn",
            )
    return _unasked(observations)


def answer_violation(
    calls: Sequence[ToolCall], observations: Sequence[Observation]
) -> Violation | None:
    """The first rule that the answers to a turn with these calls break, or None.

    A call that does not parse is answered too; parallel calls may be answered in any order; a turn
    that calls one id twice gets two
    answers with it. What users and the world itself say beside that comes after the tools' answers.
    """
    asked = Counter(_stored(call.call_id) for call in calls)
    names = {(_stored(call.call_id), _stored(call.name)) for call in calls}
    by_tools = [(at, one) for at, one in enumerate(observations) if one.source is Source.TOOL]
    given = Counter(_stored(one.call_id) for _, one in by_tools if one.call_id is not None)
    for place, (at, one) in enumerate(by_tools):
        where, call_id = f"observations[{at}]", _stored(one.call_id or "")
        if not calls:
            return Violation("answer_without_call", f"{where} is a tool's, and the turn calls none")
        if one.call_id is None:
            return Violation(
                "no_call_id",
                f"{where} is a tool's and has no call_id; the turn calls {_shown(asked)}",
            )
        if call_id not in asked:
            return Violation(
                "unknown_call_id",
                f"{where} answers {_shown([call_id])}; the turn calls {_shown(asked)}",
            )
        if given[call_id] > asked[call_id]:
            return Violation(
                "answered_twice", f"{where}: {given[call_id]} answers to {_shown([call_id])}"
            )
        if one.name is not None and (call_id, _stored(one.name)) not in names:
            called = [name for known, name in names if known == call_id]
            return Violation(
                "wrong_name",
                f"{where} is named {_shown([one.name])}; {_shown([call_id])} calls "
                f"{_shown(called)}",
            )
        if at > place:
            return Violation(
                "answer_out_of_place", f"{where} is a tool's and comes after what others say"
            )
    unasked = _unasked(observations)
    open_ids = asked - given
    return unasked or (
        Violation("unanswered", f"no answer to {_shown(open_ids)}") if open_ids else None
    )


def _unasked(observations: Sequence[Observation]) -> Violation | None:
    """What no world may say of an observation, whatever was called."""
    for at, given in enumerate(observations):
        if given.source is not Source.TOOL and given.call_id is not None:
            return Violation(
                "wrong_source",
                f"observations[{at}] has a call_id, and its source is {given.source.value}",
            )
        if given.wording is not None or given.planted is not None:
            return Violation(
                "engine_field",
                f"observations[{at}] sets `wording` or `planted`, which the engine alone writes",
            )
    return None


def _stored(text: str) -> str:
    """As a ledger holds it."""
    return text if text.isascii() else valid_text(text)


def _shown(texts: Collection[str]) -> str:
    return ", ".join(repr(text[:80]) for text in sorted(texts)[:4]) + (
        ", ..." if len(texts) > 4 else ""
    )
