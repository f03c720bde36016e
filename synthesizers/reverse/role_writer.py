"""The role `writer`: a language model that writes the goal of a subtrajectory, for environments
without rules of their own (OS-Genesis, low -> high); or that words a goal which rules wrote, where
the environment can compare the two.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from synth.boundary import FaultError, guard_async
from synth.engine.asking import (
    RoleClient,
    RoleRequest,
    UnreadableError,
    chat,
    json_reply,
    prompt,
    response_form,
)
from synth.ledger.tables.role_reply import RoleReply
from synth.schemas import (
    Completion,
    Draft,
    Fault,
    Message,
    NoGoal,
    Observation,
    SynthError,
    Window,
    WriteGoal,
    valid_text,
)
from synth.synthesizers.reverse.subtrajectories import scalars

T = TypeVar("T")
Reword = Callable[[Draft, Sequence[str]], Draft]
TEMPERATURE = 0.7
"""Goals are to differ in their words."""
LONGEST_GOAL = 2000
"""The most characters of a goal."""
SHOWN_CHARACTERS = 1500
"""The most of one observation."""


class WrittenGoal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The form of the role's reply."""

    low_level: list[str]
    goal: str


class GoalWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The form of a reply that words a goal which rules wrote."""

    lines: list[str]


class GoalWriter:
    """Writes goals, by the environment's own rules or by a model, whose replies and faults it
    keeps.
    """

    def __init__(
        self,
        rules: WriteGoal | None,
        client: RoleClient | None,
        reword: Reword | None,
    ) -> None:
        self.replies: list[RoleReply] = []
        self.faults: list[FaultError] = []
        self._clock = asyncio.timeout(None)
        self._rules = rules
        self._client = client
        self._reword = reword
        self._loop = asyncio.get_running_loop()

    def refuse_silence(self, stage: str) -> None:
        """Raises `SynthError` where the model has failed more often than it has answered."""
        count = len(self.faults)

        if count > len(self.replies):
            raise SynthError(
                f"{stage}: {self.faults[-1].detail}; {count} of its questions were not answered: "
                "mend it and run again, what was answered is kept"
            )

    async def timed(
        self,
        what: str,
        limit_s: float,
        job: Callable[[], Awaitable[T]],
    ) -> T:
        """Does a job within a time limit that stops while the model is asked. Raises
        `FaultError`.
        """

        self._clock = asyncio.timeout(limit_s)

        return await guard_async(Fault.ENVIRONMENT, what, job, limit_s, self._clock)

    async def goal(
        self,
        exploration: str,
        window: Window,
    ) -> Draft | NoGoal:
        """The goal of a window; it may be awaited on another thread's loop."""
        if self._client is None:
            return NoGoal("not_asked") if self._rules is None else self._rules(window)

        draft = None if self._reword is None or self._rules is None else self._rules(window)

        if isinstance(draft, NoGoal):
            return draft

        asked = self._asked(self._client, exploration, window, draft)

        # a blocking environment is explored on a thread, and the model is asked on the run's loop
        if asyncio.get_running_loop() is self._loop:
            return await asked

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked, self._loop))

    async def _asked(
        self,
        client: RoleClient,
        exploration: str,
        window: Window,
        draft: Draft | None,
    ) -> Draft | NoGoal:
        """Asks the model for a goal, or for words for one that rules wrote, and stops the clock
        meanwhile.
        """
        question = RoleRequest(
            purpose="write_goal" if draft is None else "word_goal",
            subject_id=exploration,
            messages=messages(window)
            if draft is None
            else chat(prompt("writer/words"), draft.goal),
            sampling={"temperature": TEMPERATURE},
            form=_form(window) if draft is None else response_form("goal", GoalWords, least=1),
        )
        read: Callable[[Completion], Draft] = partial(read_goal, window=window)

        if draft is not None and self._reword is not None:
            read = partial(read_words, draft=draft, reword=self._reword)

        now = self._loop.time
        # what was left of the limit is left after the answer too
        left = (self._clock.when() or now()) - now()
        # the limit is on the environment; a slow model must not use it up
        self._clock.reschedule(None)
        answer = await client.ask(question, read)
        self._clock.reschedule(now() + left)
        self.replies += answer.replies

        if answer.fault is not None and not answer.fault.context_overflow:
            self.faults.append(answer.fault)

        unread = "writer_unreadable" if answer.unreadable else "not_asked"
        why = unread if answer.fault is None else "writer_fault"

        return answer.value or NoGoal(why)


def _form(window: Window) -> Mapping[str, Any]:
    """One instruction per operation."""
    count = len(window.operations)
    return response_form("goal", WrittenGoal, least=count, most=count)


def read_goal(completion: Completion, window: Window) -> Draft:
    """Reads the goal from a reply; it has no structure, since words give none. Raises
    `UnreadableError`.
    """

    written = json_reply(completion, WrittenGoal)
    goal = valid_text(written.goal).strip()
    steps = [valid_text(line).strip() for line in written.low_level]

    if not goal or len(goal) > LONGEST_GOAL:
        raise UnreadableError(
            f"the goal has {len(goal)} characters; 1 to {LONGEST_GOAL} are allowed"
        )

    if len(steps) != len(window.operations) or not all(steps):
        raise UnreadableError(
            f"low_level has {len(steps)} instructions for {len(window.operations)} operations"
        )

    calls = [call for operation in window.operations for call in operation.turn.tool_calls]
    # only names with an underscore: others are words of the language
    named = sorted({call.name for call in calls if "_" in call.name and call.name in goal})

    if named:
        raise UnreadableError(
            f"the goal names the tool {named[0]}; it is to name the end and not the way"
        )

    known = [goal, *(o.content for o in _seen(window, len(window.walk)))]

    for value in (value for call in calls for value in scalars(call, keys=False)):
        word = re.compile(rf"(?<!\w){re.escape(str(value))}(?!\w)", re.IGNORECASE)
        is_text = value is not None and not isinstance(value, bool)

        if is_text and not any(map(word.search, known)):
            raise UnreadableError(
                f"the goal does not say {str(value)!r}, and nothing that was seen does"
            )

    return Draft(goal, tuple(steps), "", env_config=window.env_config, seed=window.seed)


def read_words(completion: Completion, draft: Draft, reword: Reword) -> Draft:
    """Reads a model's words for a goal. Raises `UnreadableError` where they say something else."""
    written = json_reply(completion, GoalWords)

    try:
        return reword(draft, [valid_text(line) for line in written.lines])
    except ValueError as error:
        raise UnreadableError(str(error)) from error


def messages(window: Window) -> list[Message]:
    """The chat that asks for a goal."""
    last = window.operations[-1].at
    seen = [_short(one.content) for one in _seen(window, last) if not one.error]
    parts = ["What was seen:", "\n".join(dict.fromkeys(seen)), "\nThe operations:"]

    for number, one in enumerate(window.operations, start=1):
        calls = "; ".join(f"{call.name} {call.arguments}" for call in one.turn.tool_calls)
        effect = [f"  {at}: {two.before!r} -> {two.after!r}" for at, two in one.changed.items()]
        refused = [f"  refused by rule {one.denied}"]
        parts += [f"{number}. {calls or one.turn.content}", *(effect or refused)]

    return chat(prompt("writer/goal"), "\n".join(parts))


def _seen(window: Window, before: int) -> list[Observation]:
    """The observations before a turn of the walk, without the answers to the operations."""
    own = {operation.at for operation in window.operations}
    walk = [turn for turn in window.walk[:before] if turn.index not in own]
    return [*window.opening.observations, *(o for turn in walk for o in turn.observations)]


def _short(text: str) -> str:
    """Cuts a text."""
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]} ..."
