"""A role that plays no episode is asked: its reply is on disk before it is used, asked for again
where it cannot be read, accounted.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from synth.boundary import FaultError, NotStarted, guard_async
from synth.engine.context import Role, Run
from synth.ledger.journal import Event, recorded_in
from synth.ledger.role_reply import RoleReply
from synth.models.admission import AdmittedChat
from synth.models.reply_health import CUT_OFF, mask_of
from synth.rollout.resumption import JournaledModel, Resumption
from synth.schemas.canonical import content_hash
from synth.schemas.model import Completion, Message, Sampling
from synth.schemas.outcome import Fault
from synth.schemas.trajectory import ToolSchema

T = TypeVar("T")
TRIES = 3
"""Replies to one question that may be unreadable before it counts as unanswered."""

TOO_LONG = "too_long"
"""Why a role has no answer where a question does not fit its model's context: a property of what it
was asked about, and no fault.
"""


class UnreadableError(ValueError):
    """A reply is not what was asked for; the message says why in one line, to the model too."""


class RoleRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a role is asked, about which trajectory or task, for which stage; `draw` tells equal
    questions apart.

    `sampling` overrides what the role's settings say, key by key.
    """

    purpose: str
    subject_id: str
    messages: Sequence[Message]
    task_id: str | None = None
    tools: Sequence[ToolSchema] = ()
    sampling: Mapping[str, Any] = msgspec.field(default_factory=dict)
    draw: int = 0


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """`value` is None where no reply could be read, the server failed (`fault`), or a ceiling kept
    it from being asked (neither).

    `replies` are all that were received, for the ledger.
    """

    value: T | None
    replies: tuple[RoleReply, ...] = ()
    fault: FaultError | None = None
    unreadable: str | None = None


def told(fault: FaultError) -> dict[str, str]:
    """A fault as the detail of a measure: a measure with one is not kept, and a rerun of the flow
    takes it again.
    """
    return {"fault": fault.fault.value, "message": fault.detail[:300]}


class RoleClient:
    """The questions of one shard to one role; what an interrupted try at the shard has been told is
    not asked again.

    Raises nothing for what a server does: a fault of the role's model is the answer's `fault`
    (boundary `judge`).
    """

    def __init__(self, run: Run, shard: str, name: str, role: Role) -> None:
        if role.model is None:
            raise ValueError(f"role {name} has no model to ask")
        self._run = run
        self._name = name
        self._role = role
        self._model = role.model
        self._journal = run.journals[shard]
        self._events: Mapping[tuple[str, int], Sequence[Event]] = recorded_in([self._journal.path])[
            0
        ]

    async def ask(self, question: RoleRequest, read: Callable[[Completion], T]) -> Answer[T]:
        """Asks until a reply can be read, at most `TRIES` times, each time told what was wrong.
        `read` raises `UnreadableError`.
        """
        drawn = msgspec.convert({**self._role.policy.sampling, **question.sampling}, Sampling)
        identity = content_hash([question.purpose, self._name, self._model.name, question, drawn])
        resumption = Resumption(identity, 0, self._events.get((identity, 0), ()), self._journal)
        model = self._model
        if isinstance(model, AdmittedChat) and not resumption.replies:
            model = model.for_episode(self._run.may_start)
        journaled = JournaledModel(model, resumption)
        messages, replies = list(question.messages), list[RoleReply]()
        problem = ""
        for ordinal in range(TRIES):
            call = partial(journaled.complete, tuple(messages), question.tools, drawn)
            try:
                completion = await guard_async(Fault.JUDGE, self._name, call, None)
            except NotStarted:
                return Answer(None, tuple(replies))
            except FaultError as error:
                self._run.faulted(error, self._name)
                # refusals in a row end the run, though no further question may come
                self._run.may_start()
                return Answer(None, tuple(replies), error)
            self._run.asked(completion.usage, self._name)
            value, problem = _read(completion, read)
            replies.append(self._reply(identity, ordinal, question, completion, problem))
            if not problem:
                return Answer(value, tuple(replies))
            messages += [
                {"role": "assistant", "content": completion.content or "(nothing)"},
                {
                    "role": "user",
                    "content": f"That cannot be used: {problem}. Answer again, in the form asked for and "
                    "with nothing else.",
                },
            ]
        return Answer(None, tuple(replies), unreadable=problem)

    def _reply(
        self,
        identity: str,
        ordinal: int,
        question: RoleRequest,
        completion: Completion,
        problem: str,
    ) -> RoleReply:
        usage = completion.usage
        return RoleReply(
            question_id=identity,
            ordinal=ordinal,
            subject_id=question.subject_id,
            task_id=question.task_id,
            role=self._name,
            purpose=question.purpose,
            model=self._model.name,
            weights_id=completion.weights_id,
            content=completion.content,
            thought=completion.thought,
            unreadable=problem or None,
            model_calls=usage.calls,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cached_tokens=usage.cached_tokens,
            cost_usd=usage.cost_usd,
        )


def _read(completion: Completion, read: Callable[[Completion], T]) -> tuple[T | None, str]:
    """What a reply says, or why it cannot be used."""
    ended = mask_of(completion.finish_reason)
    if ended is not None:
        return (
            None,
            "it was cut off at the token limit"
            if ended == CUT_OFF
            else "it was cut off by a content filter",
        )
    try:
        return read(completion), ""
    except UnreadableError as error:
        return None, str(error)
