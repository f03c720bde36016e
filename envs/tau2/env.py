"""A live episode of τ²-bench: calls go to the package's own tools, the state is its databases, and
an episode put aside is the list of what was done.
"""

from collections.abc import Sequence

import msgspec

from synth.envs.echo_check import judged
from synth.envs.episode import (
    answer,
    call_turn,
    done_again,
    fits,
    profile_of,
    tool_schema,
)
from synth.envs.tau2.affordances import possible
from synth.envs.tau2.judging import Deeds, facts_of, note_call, note_words
from synth.envs.tau2.package import CLOSE, called, domain
from synth.envs.tau2.settings import Tau2Config, validated
from synth.envs.tau2.tasks import POLICY, task_in
from synth.envs.tool_env.signature import readable
from synth.schemas import (
    OPEN_LINE,
    AgentTurn,
    CheckResult,
    EnvSpec,
    Facts,
    Observation,
    Opening,
    Response,
    Snapshot,
    Source,
    Task,
    ToolCall,
    Trajectory,
    content_hash,
)

GREETING = "Hi! How can I help you today?"
EXPLORE = "Look around and do what you like."
SOLO = (
    "You work on the ticket below, alone: you cannot talk to the customer, and their phone is in "
    f"your hands. Act through the tools, keep to the policy, and call `{CLOSE}` when it is solved."
)
OVER = "The ticket is closed; nothing more can be done."
USE_TOOLS = f"Nobody hears you. Act through the tools; `{CLOSE}` closes the ticket."
SILENT = "Say something, or use a tool."
DONE_TOOL = tool_schema(
    CLOSE,
    "Close the ticket: everything that was asked for is done.",
    {"type": "object", "properties": {}, "required": []},
)
LONGEST = 20_000
"""Characters of a call's arguments."""
MOST_SAID = 1900
"""Characters of an error."""


class _PutAside(msgspec.Struct, frozen=True):
    task: Task | None
    turns: tuple[AgentTurn, ...]


class Tau2Env:
    """One live episode, whose methods compute for about a millisecond on a thread."""

    def __init__(self, spec: EnvSpec, config: Tau2Config) -> None:
        self.spec, self._config = spec, config

    async def reset(self, task: Task | None) -> Opening:
        """The domain as the task begins. Raises `ConfigError` for a task that the package does not
        have, or has otherwise.
        """
        config = validated(task.env_config) if task is not None else self._config
        self._domain = known = domain(config.domain)
        self._task = task
        self._wanted = task_in(known, task) if task is not None else None
        self._env = known.begun(self._wanted)
        self._deeds, self._turns, self._golden, self._over = Deeds(), list[AgentTurn](), 0, False
        self._start = self._now = self._looked()
        if not known.solo:
            line = Observation(OPEN_LINE, Source.USER)
            policy = known.policy if task is None else str(task.script.get(POLICY, known.policy))
            return Opening(policy, known.tools, (line,), self._key(), GREETING)
        goal = Observation(task.goal if task else EXPLORE, Source.USER)
        prompt = f"{SOLO}\n\n{known.policy}"
        return Opening(prompt, (*known.tools, DONE_TOOL), (goal,), self._key())

    async def step(self, turn: AgentTurn) -> Response:
        """Does the calls in their order; words alone go to the customer, where there is one."""
        self._turns.append(turn)
        words = (turn.content or "").strip()
        if self._wanted is not None and words and not self._over:
            note_words(self._wanted, self._deeds, words)
        seen = [self._answer(call) for call in turn.tool_calls]
        if not seen and not self._domain.solo and words:
            seen = [Observation(OPEN_LINE, Source.USER)]
        elif not seen:
            why = OVER if self._over else USE_TOOLS if self._domain.solo else SILENT
            seen = [Observation(why, Source.ENVIRONMENT, error=True)]
        self._now = self._looked()
        return Response(tuple(seen), self._key(), done=self._over)

    def _answer(self, call: ToolCall) -> Observation:
        said, error = self._done(call)
        return answer(call, said, failed=error)

    def _done(self, call: ToolCall) -> tuple[str, bool]:
        if self._over:
            return OVER, True
        if call.parse_error is not None:
            return f"Error: {call.parse_error}", True
        if len(call.arguments) > LONGEST:
            return f"Error: arguments of more than {LONGEST} characters", True
        given = call.parsed()
        if call.name == CLOSE and self._domain.solo:
            self._over = True
            return "The ticket is closed.", False
        # a power of powers would stop the process, not the episode
        if call.name == "calculate" and "**" in str(given.get("expression")):
            return "Error: Invalid characters in expression", True
        why = self._domain.refused(call.name, given)
        if why is not None:
            return f"Error: {why}", True
        made, found = called(self._env, call.name, given)
        if self._wanted is not None:
            note_call(self._wanted, self._deeds, made, found)
        gold = self._gold()
        if gold is not None and (gold.name, gold.parsed()) == (call.name, given):
            self._golden += not found.error
        said = found.content or ""
        return (readable(said, MOST_SAID) if found.error else said), bool(found.error)

    async def check(self) -> CheckResult:
        """The benchmark's own evaluation; without a task nothing passes."""
        check = self._task.check if self._task is not None else None
        return judged(check, self._start, self._now, self.spec.version)

    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult:
        """The task's present check, over the recorded turns done again."""
        return await done_again(type(self)(self.spec, self._config), task, trajectory)

    async def close(self) -> None:
        """Holds nothing that is not let go with it."""

    async def facts(self) -> Facts:
        """See `facts_of`."""
        return self._now

    async def affordances(self) -> Sequence[AgentTurn]:
        """Calls that could be made on a ticket, one a turn; none in a talk."""
        if self._over or not self._domain.solo:
            return ()
        calls = possible(self._domain.tools, self._now)
        return [call_turn(len(self._turns), name, given) for name, given in (*calls, (CLOSE, {}))]

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        """The first of the authors' own actions that was not made yet (privileged); after the last
        one it closes the ticket, or tells what is to be told.
        """
        profile_of(self.spec, profile, seed)
        gold = self._gold()
        if gold is not None:
            return call_turn(len(self._turns), gold.name, gold.parsed())
        if self._domain.solo:
            return call_turn(len(self._turns), CLOSE, {})
        criteria = None if self._wanted is None else self._wanted.evaluation_criteria
        told = ", ".join((criteria.communicate_info if criteria else None) or ())
        return AgentTurn(f"That is done. {told}".strip())

    async def snapshot(self) -> Snapshot:
        """What was done so far: doing it again takes less than copying a database."""
        parked = msgspec.json.encode(_PutAside(self._task, tuple(self._turns)))
        return Snapshot(self.spec.name, self.spec.version, parked)

    async def restore(self, snapshot: Snapshot) -> None:
        """Does again what a snapshot holds. Raises `UnfitError` for one of another environment."""
        parked = msgspec.json.decode(fits(snapshot, self.spec), type=_PutAside)
        await self.reset(parked.task)
        for turn in parked.turns:
            await self.step(turn)

    def _gold(self) -> ToolCall | None:
        gold = (self._task.gold or ()) if self._task is not None else ()
        return gold[self._golden] if self._golden < len(gold) else None

    def _looked(self) -> Facts:
        return facts_of(self._domain, self._wanted, self._env, self._deeds)

    def _key(self) -> str:
        deeds = sorted(self._deeds.acts), sorted(self._deeds.told)
        return content_hash([self._now, deeds, self._golden, self._over])
