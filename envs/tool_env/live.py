"""A `ToolEnv` as the engine takes it: turns in, observations out, and the state between them."""

import copy
import inspect
from collections.abc import (
    Callable,
    Mapping,
    Sequence,
)
from functools import partial
from typing import Any, TypeVar

import msgspec

from synth.envs.echo_check import judged
from synth.envs.episode import (
    answer,
    call_turn,
    done_again,
    fits,
    profile_of,
)
from synth.envs.tool_env.kit import ToolEnv, opened
from synth.envs.tool_env.signature import ToolError, readable
from synth.envs.tool_env.state import (
    flat_facts,
    key_of,
    packed,
    unpacked,
    with_gone,
)
from synth.schemas import (
    AgentTurn,
    CheckResult,
    EnvSpec,
    Facts,
    Observation,
    Opening,
    Response,
    Scalar,
    Snapshot,
    Source,
    Task,
    ToolCall,
    Trajectory,
    valid_text,
)

T = TypeVar("T")
DONE = "That is done."
OVER = "The episode is over; nothing more can be done."
EMPTY = "An empty turn does nothing: call a tool, or say something."


class ToolEpisode(msgspec.Struct):
    """An episode: all that the rest of it depends on; `state` is that of the instance, packed.

    `golden` counts those of the task's gold calls that were made, in their order.
    """

    task: Task | None = None
    state: msgspec.Raw = msgspec.Raw()
    start: Mapping[str, Scalar] = {}
    done: bool = False
    turns: int = 0
    golden: int = 0


class LiveToolEnv:
    """One live environment; `begin` or `restore` comes first.

    The state of the instance is packed after every turn and put back unpacked, so what an episode
    goes on with is exactly what a snapshot of it would hold.
    """

    def __init__(
        self,
        kind: type[ToolEnv],
        spec: EnvSpec,
        config: Mapping[str, Any],
    ) -> None:
        self.spec = spec
        self._fresh = partial(
            LiveToolEnv,
            kind,
            spec,
            config,
        )
        self._open = partial(
            opened,
            kind,
            spec.name,
            config,
        )
        self._kind, self._who = kind, kind.__name__
        self._env = self._open()
        self._settings = copy.deepcopy(self._env._chosen())
        self._blob = packed({}, None, self._who)
        self._episode = ToolEpisode()

    async def reset(self, task: Task | None) -> Opening:
        """A new episode."""
        return self.begin(task)

    async def step(self, turn: AgentTurn) -> Response:
        """The answers to a turn's calls, or to its words."""
        return self.take(turn)

    async def check(self) -> CheckResult:
        """The task's predicates over the facts; without a task nothing passes."""
        episode = self._episode
        check = episode.task.check if episode.task is not None else None
        found = self._asked("facts", self._env.facts)
        return judged(*with_gone(check, episode.start, self.now(), found), self._kind.version)

    async def close(self) -> None:
        """Holds nothing."""

    async def affordances(self) -> Sequence[AgentTurn]:
        """Calls that could be made now, one a turn."""
        turns = self._episode.turns
        calls = () if self._episode.done else self._asked("affordances", self._env.affordances)
        return tuple(call_turn(turns, name, arguments) for name, arguments in calls)

    async def facts(self) -> Facts:
        """`state/now/<key>`."""
        return self.now()

    async def snapshot(self) -> Snapshot:
        """The episode as JSON."""
        saved = msgspec.structs.replace(self._episode, state=msgspec.Raw(self._blob))
        return Snapshot(self.spec.name, self.spec.version, msgspec.json.encode(saved))

    async def restore(self, snapshot: Snapshot) -> None:
        """The episode as it was put aside. Raises `UnfitError` for another's snapshot."""
        self._episode = msgspec.json.decode(fits(snapshot, self.spec), type=ToolEpisode)
        self._sit_down(self._episode.task)
        self._put(bytes(self._episode.state))

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        """The first of the task's gold calls that was not made yet; after all, that it is done."""

        profile_of(self.spec, profile, seed)
        episode = self._episode
        if episode.task is None or not episode.task.gold:
            name = self.spec.name
            raise ValueError(f"{name}: no expert knows this task: it has no gold calls")

        if episode.golden == len(episode.task.gold):
            return AgentTurn(DONE)
        call, call_id = episode.task.gold[episode.golden], f"call_{episode.turns}"

        return AgentTurn(tool_calls=(msgspec.structs.replace(call, call_id=call_id),))

    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult:
        """The task's present check, over the recorded turns done again."""
        return await done_again(self._fresh(), task, trajectory)

    def begin(self, task: Task | None) -> Opening:
        """A new episode.

        Raises `ValueError` for a task whose check is about more than facts, `TypeError` where
        `start` gives no words.
        """

        check = task.check if task is not None else None
        if check is not None and (check.told or check.refusals or check.process):
            raise ValueError("a ToolEnv checks facts; this task's check asks for more than those")

        self._sit_down(task)
        said = self._env.start(task)
        if type(said) is not str or not said.strip():
            raise TypeError(f"{self._who}.start gives what the user says first, and gave {said!r}")
        self._settle()
        self._episode = ToolEpisode(task, start=self.now())
        tools = tuple(tool.schema() for tool in self._kind.tools.values())
        prompt = inspect.cleandoc(self._kind.__doc__ or "")

        return Opening(
            prompt,
            tools,
            (Observation(said, Source.USER),),
            self._key(),
        )

    def take(self, turn: AgentTurn) -> Response:
        """The answer to a turn.

        Calls are made in their order, also after one that was refused. Words without a call are
        for the user, who ends the episode by saying nothing.
        """

        episode = self._episode
        episode.turns += 1
        if turn.tool_calls:
            observations = tuple([self._called(call) for call in turn.tool_calls])
        elif episode.done or not (turn.content or "").strip():
            why = OVER if episode.done else EMPTY
            observations = (Observation(why, Source.ENVIRONMENT, error=True),)
        else:
            reply = self._env.hear(turn.content or "")
            self._settle()
            episode.done = reply is None
            observations = () if reply is None else (Observation(valid_text(reply), Source.USER),)

        return Response(observations, self._key(), done=episode.done)

    def now(self) -> dict[str, Scalar]:
        """The facts, as path -> value."""
        return flat_facts(self._asked("facts", self._env.facts), self._who)

    def _called(self, call: ToolCall) -> Observation:
        """One call's answer; whatever else than `ToolError` a tool raises is a fault of its own."""

        try:
            return answer(call, self._done_by(call))
        except ToolError as error:
            # a tool may have changed something before it refused
            self._put(self._blob)
            why = readable(str(error)).strip() or "This cannot be done."
            return answer(call, why, failed=True)

    def _done_by(self, call: ToolCall) -> str:
        """What a tool says once it has done what is called.

        Raises `ToolError` for a call that is refused, `RuntimeError` for a tool that is said to be
        read-only and changed the state.
        """

        tools, before = self._kind.tools, self._blob
        if self._episode.done:
            raise ToolError(OVER)
        if call.name not in tools:
            known = ", ".join(tools)
            raise ToolError(f"There is no tool {readable(call.name, 80)!r}; there are {known}.")

        tool = tools[call.name]
        arguments = tool.parsed(call)
        given = getattr(self._env, tool.name)(**arguments)
        self._settle()
        if tool.read_only and self._blob != before:
            raise RuntimeError(f"{self._who}.{tool.name} is read_only, and it changed the state")

        self._episode.golden += self._is_golden(call)
        self._episode.done = tool.ends
        if isinstance(given, str):
            return given

        return "Done." if given is None else msgspec.json.encode(given).decode()

    def _is_golden(self, call: ToolCall) -> bool:
        """Whether a call is the next of the task's gold calls."""
        episode = self._episode
        gold = (episode.task.gold if episode.task is not None else None) or ()
        next_ones = gold[episode.golden : episode.golden + 1]
        return any((call.name, call.parsed()) == (one.name, one.parsed()) for one in next_ones)

    def _asked(self, name: str, question: Callable[[], T]) -> T:
        """The answer to a question that may change nothing."""
        found = question()
        if self._packed() != self._blob:
            raise RuntimeError(f"{self._who}.{name} is asked at any time, and it changed the state")
        return found

    def _settle(self) -> None:
        """Makes the state what a snapshot would give back.

        So going on from a snapshot is going on, and no value is shared with another episode.
        Raises `RuntimeError` for a setting that was changed, `TypeError` for a state that JSON
        cannot hold, or that hides a tool.
        """

        if self._env._chosen() != self._settings:
            raise RuntimeError(f"{self._who} changed a setting; what an episode changes is state")
        hidden = sorted(vars(self._env).keys() & self._kind.tools.keys())
        if hidden:
            raise TypeError(f"{self._who}.{hidden[0]} is a tool; give what is kept another name")
        self._put(self._packed())

    def _sit_down(self, task: Task | None) -> None:
        """A fresh instance, with the chance of the task."""
        self._env = self._open()
        self._env._seed = task.seed if task is not None else 0

    def _packed(self) -> bytes:
        return packed(self._env._state(), self._env._rng, self._who)

    def _put(self, blob: bytes) -> None:
        env, (state, rng) = self._env, unpacked(blob)
        # what is gone from the state must not live on in the instance
        for name in env._state():
            delattr(env, name)

        vars(env).update(state)
        env._rng, self._blob = rng, blob

    def _key(self) -> str:
        return key_of(self._blob, done=self._episode.done)
