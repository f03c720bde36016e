"""One episode of a `ToolEnv`: turns in, observations out, and the state between them."""

import copy
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import msgspec

from synth.envs.echo_check import state_verdicts
from synth.envs.tool_env.kit import Call, ToolEnv
from synth.envs.tool_env.signature import ToolError, readable
from synth.envs.tool_env.state import flat_facts, key_of, packed, unpacked
from synth.schemas.canonical import valid_text
from synth.schemas.check import CheckResult, Scalar
from synth.schemas.environment import AgentTurn, Opening, Response
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, ToolCall

T = TypeVar("T")
OVER = "The episode is over; nothing more can be done."
EMPTY = "An empty turn does nothing: call a tool, or say something."


def opened(kind: type[ToolEnv], name: str, config: Mapping[str, Any]) -> ToolEnv:
    """An instance with these settings. Raises pydantic's `ValidationError` for wrong ones."""
    model = kind.config.model_validate(dict(config))
    env = kind(**{setting: getattr(model, setting) for setting in kind.config.model_fields})
    env.name = name
    return env


class Saved(msgspec.Struct, frozen=True):
    """An episode put aside: all that the rest of it depends on.

    `golden` counts those of the task's gold calls that were made, in their order.
    """

    task: Task | None
    state: msgspec.Raw
    start: Mapping[str, Scalar]
    done: bool
    turns: int
    golden: int


class Session:
    """An episode under way; `begin` or `restore` comes first."""

    def __init__(self, kind: type[ToolEnv], name: str, config: Mapping[str, Any]) -> None:
        self._open = partial(opened, kind, name, config)
        self._kind, self._who = kind, kind.__name__
        self._env = self._open()
        self._settings = copy.deepcopy(self._env._chosen())
        self._blob = packed({}, None, kind.__name__)
        self._start: Mapping[str, Scalar] = {}
        self.task: Task | None = None
        self.done = False
        self.turns = 0
        self.golden = 0

    def begin(self, task: Task | None) -> Opening:
        """A new episode."""
        check = task.check if task is not None else None
        if check is not None and (check.told or check.refusals or check.process):
            raise ValueError("a ToolEnv checks facts; this task's check asks for more than those")
        self.task, self.done, self.turns, self.golden = task, False, 0, 0
        self._env = env = self._open()
        env._seed = task.seed if task is not None else 0
        said = env.start(task)
        if type(said) is not str or not said.strip():
            raise TypeError(f"{self._who}.start gives what the user says first, and gave {said!r}")
        self._settle()
        self._start = self.facts()
        tools = tuple(tool.schema() for tool in self._kind.tools.values())
        prompt = inspect.cleandoc(self._kind.__doc__ or "")
        return Opening(prompt, tools, (Observation(said, Source.USER),), self._key())

    def take(self, turn: AgentTurn) -> Response:
        """The answer to a turn."""
        self.turns += 1
        if turn.tool_calls:
            observations = tuple([self._called(call) for call in turn.tool_calls])
        elif self.done:
            observations = (Observation(OVER, Source.ENVIRONMENT, error=True),)
        elif not (turn.content or "").strip():
            observations = (Observation(EMPTY, Source.ENVIRONMENT, error=True),)
        else:
            reply = self._env.hear(turn.content or "")
            self._settle()
            self.done = reply is None
            observations = () if reply is None else (Observation(valid_text(reply), Source.USER),)
        return Response(observations, self._key(), done=self.done)

    def facts(self) -> dict[str, Scalar]:
        """What checks look at, as path -> value."""
        return flat_facts(self._asked("facts", self._env.facts), self._who)

    def affordances(self) -> list[Call]:
        """Calls that could be made now."""
        return [] if self.done else list(self._asked("affordances", self._env.affordances))

    def verdict(self) -> CheckResult:
        """The task's predicates over the facts; without a task nothing passes."""
        facts, version = self.facts(), self._kind.version
        gone = dict.fromkeys(self._start.keys() - facts.keys())
        absent = object()
        new = {path for path in facts if self._start.get(path, absent) != facts[path]}
        changed = {path: facts[path] for path in facts if path in new} | gone
        if self.task is None or self.task.check is None:
            return CheckResult(False, facts=changed, version=version)
        parts = state_verdicts(self.task.check, self._start, facts)
        return CheckResult(all(part.passed for part in parts), parts, changed, version)

    def saved(self) -> Saved:
        """The episode as it stands."""
        state = msgspec.Raw(self._blob)
        return Saved(self.task, state, self._start, self.done, self.turns, self.golden)

    def restore(self, saved: Saved) -> None:
        """The episode as it was put aside."""
        self.task, self._start = saved.task, saved.start
        self.done, self.turns, self.golden = saved.done, saved.turns, saved.golden
        self._env = self._open()
        self._env._seed = self.task.seed if self.task is not None else 0
        self._put(bytes(saved.state))

    def _called(self, call: ToolCall) -> Observation:
        """One call's answer; whatever else than `ToolError` a tool raises is a fault of its own."""
        name = valid_text(call.name)
        try:
            said = valid_text(self._done_by(call))
        except ToolError as error:
            self._put(self._blob)
            why = readable(str(error)).strip() or "This cannot be done."
            return Observation(why, Source.TOOL, call.call_id, name, error=True)
        return Observation(said, Source.TOOL, call.call_id, name)

    def _done_by(self, call: ToolCall) -> str:
        """What a tool says once it has done what is called. Raises `ToolError`."""
        tools, before = self._kind.tools, self._blob
        if self.done:
            raise ToolError(OVER)
        if call.name not in tools:
            known = ", ".join(tools)
            raise ToolError(f"There is no tool {readable(call.name, 80)!r}; there are {known}.")
        tool = tools[call.name]
        given = getattr(self._env, tool.name)(**tool.parsed(call))
        self._settle()
        if tool.read_only and self._blob != before:
            raise RuntimeError(f"{self._who}.{tool.name} is read_only, and it changed the state")
        self.golden += self._is_golden(call)
        self.done = tool.ends
        if isinstance(given, str):
            return given
        return "Done." if given is None else msgspec.json.encode(given).decode()

    def _is_golden(self, call: ToolCall) -> bool:
        gold = self.task.gold if self.task is not None else None
        if not gold or self.golden >= len(gold):
            return False
        return (call.name, call.parsed()) == (gold[self.golden].name, gold[self.golden].parsed())

    def _asked(self, name: str, question: Callable[[], T]) -> T:
        """The answer to a question that may change nothing."""
        found = question()
        if self._packed() != self._blob:
            raise RuntimeError(f"{self._who}.{name} is asked at any time, and it changed the state")
        return found

    def _settle(self) -> None:
        """Makes the state what a snapshot would give back.

        So going on from a snapshot is going on, and no value is shared with another episode.
        """
        if self._env._chosen() != self._settings:
            raise RuntimeError(f"{self._who} changed a setting; what an episode changes is state")
        hidden = sorted(vars(self._env).keys() & self._kind.tools.keys())
        if hidden:
            raise TypeError(f"{self._who}.{hidden[0]} is a tool; give what is kept another name")
        self._put(self._packed())

    def _packed(self) -> bytes:
        return packed(self._env._state(), self._env._rng, self._who)

    def _put(self, blob: bytes) -> None:
        env, (state, rng) = self._env, unpacked(blob)
        for name in env._state():
            delattr(env, name)
        vars(env).update(state)
        env._rng, self._blob = rng, blob

    def _key(self) -> str:
        return key_of(self._blob, done=self.done)
