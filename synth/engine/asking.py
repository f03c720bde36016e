"""A role that plays no episode is asked: its reply is on disk before it is used, asked for again
where it cannot be read, accounted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from synth.boundary import FaultError, NotStarted, guard_async
from synth.engine.context import Role, Run
from synth.engine.roles.own_prompts import PROMPTS, prompt, with_own
from synth.engine.roles.replies import (
    REFUSED,
    UnreadableError,
    json_reply,
    mended_in,
    refusal_in,
    response_form,
    why_unusable,
)
from synth.ledger.storage.journal import recorded
from synth.ledger.tables.role_reply import RoleReply
from synth.models.admission import AdmittedChat
from synth.models.refused_features import FORM, FORMS
from synth.rollout.resumption import JournaledModel, Resumption
from synth.schemas import (
    Completion,
    ConfigError,
    Fault,
    Faulted,
    Message,
    Sampling,
    ScoringModel,
    ToolSchema,
    Trajectory,
    content_hash,
)

__all__ = ["UnreadableError", "json_reply", "prompt", "response_form"]
T = TypeVar("T")
F = TypeVar("F", bound=Faulted)
TRIES = 3
"""Replies to one question that may be unreadable before it counts as unanswered."""

TOO_LONG = "too_long"
"""Why a role has no answer where a question does not fit its model's context: a property of what it
was asked about, and no fault.
"""


def chat(system: str, *said: str) -> list[Message]:
    """A chat of a system message and one of the user, whose paragraphs are `said`."""
    user = "\n\n".join(said)
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


class RoleRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a role is asked, about which trajectory or task, for which stage; `draw` tells equal
    questions apart.

    `sampling` overrides what the role's settings say, key by key; `form` is the `response_format`
    of the reply, unless these name one.
    """

    purpose: str
    subject_id: str
    messages: Sequence[Message]
    task_id: str | None = None
    tools: Sequence[ToolSchema] = ()
    sampling: Mapping[str, Any] = msgspec.field(default_factory=dict)
    draw: int = 0
    form: Mapping[str, Any] | None = None

    def drawn(self, given: Mapping[str, Any]) -> Sampling:
        """How its reply is drawn by a role with these settings."""
        settings = {**given, **self.sampling}
        settings.pop(PROMPTS, None)
        extra = settings.get("extra") or {}
        if self.form is not None and not FORMS.intersection(extra):
            settings["extra"] = {**extra, FORM: self.form}
        return msgspec.convert(settings, Sampling)

    @property
    def prompt_hash(self) -> str:
        """Of what the role is told to be: tells replies to one prompt from those to another."""
        told = [one for one in self.messages if one["role"] == "system"]
        return content_hash([told, self.form])

    @classmethod
    def about(
        cls, trial: Trajectory, purpose: str, system: str, *said: str, **more: Any
    ) -> "RoleRequest":
        """A question about a trial, as `chat` puts it."""
        return cls(
            purpose=purpose,
            subject_id=trial.trajectory_id,
            task_id=trial.task_id,
            messages=chat(system, *said),
            **more,
        )


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """`value` is None where no reply could be read, the server failed (`fault`), or a ceiling kept
    it from being asked (neither).

    `replies` are all that were received, for the ledger.
    """

    value: T | None
    replies: tuple[RoleReply, ...] = ()
    fault: FaultError | None = None
    unreadable: str | None = None

    @property
    def refused(self) -> bool:
        """Whether the model would not answer: what it was asked about is not at fault."""
        return (self.unreadable or "").startswith(REFUSED)


def told(fault: FaultError, kind: type[F]) -> F:
    """A fault as what stands behind a measure: a measure with one is not kept, and a rerun of the
    flow takes it again.
    """
    return kind(fault=fault.fault.value, message=fault.detail[:300])


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
        self.name = name
        self.role = role
        self._model = role.model
        self._journal = run.journals[shard]
        self._events, _ = recorded(self._journal.path)

    async def ask(self, question: RoleRequest, read: Callable[[Completion], T]) -> Answer[T]:
        """Asks until a reply can be read, at most `TRIES` times, each time told what was wrong.
        `read` raises `UnreadableError`.
        """
        if self.role.prompts:
            own = with_own(question.messages, self.role.prompts)
            question = msgspec.structs.replace(question, messages=own)
        drawn = question.drawn(self.role.policy.sampling)
        identity = content_hash([question.purpose, self.name, self._model.name, question, drawn])
        resumption = Resumption(identity, 0, self._events.get((identity, 0), ()), self._journal)
        model = self._model
        if isinstance(model, AdmittedChat) and not resumption.replies:
            model = model.for_episode(self._run.may_start)
        journaled = JournaledModel(model, resumption)
        messages, replies, problem = list(question.messages), list[RoleReply](), ""

        for ordinal in range(TRIES):
            call = partial(journaled.complete, tuple(messages), question.tools, drawn)
            try:
                completion = await guard_async(Fault.JUDGE, self.name, call, None)
            except NotStarted:
                return Answer(None, tuple(replies))
            except FaultError as error:
                if error.context_overflow and problem:
                    # the question had room, what was wrong with its answers had none
                    return Answer(None, tuple(replies), unreadable=problem)
                self._run.faulted(error, self.name)
                # refusals in a row end the run, though no further question may come
                self._run.may_start()
                return Answer(None, tuple(replies), error)
            self._run.spoke(completion.usage, self.name)
            value, problem = _read(completion, read)
            asked = {"question_id": identity, "ordinal": ordinal, "unreadable": problem or None}
            replies.append(self._reply(question, completion, **asked))
            if not problem:
                return Answer(value, tuple(replies))
            again = f"That cannot be used: {problem}. Answer again, in the form asked for and with "
            messages += [
                {"role": "assistant", "content": completion.content or "(nothing)"},
                {"role": "user", "content": f"{again}nothing else."},
            ]

        return Answer(None, tuple(replies), unreadable=problem)

    def _reply(self, question: RoleRequest, completion: Completion, **asked: Any) -> RoleReply:
        in_form = question.form is not None and asked.get("unreadable") is None
        mended = mended_in(completion, form=in_form)
        return RoleReply(
            subject_id=question.subject_id,
            task_id=question.task_id,
            role=self.name,
            purpose=question.purpose,
            model=self._model.name,
            prompt_hash=question.prompt_hash,
            repairs=tuple(dict.fromkeys((*completion.repairs, *mended))),
            weights_id=completion.weights_id,
            content=completion.content,
            thought=completion.thought,
            usage=completion.usage,
            **asked,
        )


def _read(completion: Completion, read: Callable[[Completion], T]) -> tuple[T | None, str]:
    """What a reply says, or why it cannot be used."""
    unusable = why_unusable(completion)
    if unusable is not None:
        return None, unusable
    try:
        return read(completion), ""
    except UnreadableError as error:
        return None, refusal_in(completion) or str(error)


@dataclass(eq=False)
class SourceMeans:
    """What a filter's measure of one shard may use besides the trajectory: the flow's models, by
    role. `replies` are what roles have answered so far, for the ledger.
    """

    run: Run
    shard: str
    roles: Mapping[str, Role]
    replies: list[RoleReply] = field(default_factory=list)
    _asking: dict[str, RoleClient] = field(default_factory=dict)

    def has(self, role: str) -> bool:
        """Whether the flow names a model for a role."""
        found = self.roles.get(role)
        return found is not None and found.model is not None

    def role(self, name: str) -> Role:
        """The role as the flow fills it. Raises `ConfigError` where it has no model for it."""
        if not self.has(name):
            raise ConfigError(
                f"no model plays {name!r}: add `{name}: {{model: ...}}` to the flow's models"
            )
        return self.roles[name]

    async def ask(
        self, name: str, question: RoleRequest, read: Callable[[Completion], T]
    ) -> Answer[T]:
        """Asks a role's model; see `RoleClient.ask`. An answer with neither value nor fault nor
        problem: a ceiling kept it from being asked.
        """
        if name not in self._asking:
            self._asking[name] = RoleClient(self.run, self.shard, name, self.role(name))
        answer = await self._asking[name].ask(question, read)
        self.replies.extend(answer.replies)
        return answer

    def scoring(self, name: str) -> ScoringModel:
        """A role's model as one that gives probabilities. Raises `ConfigError` where its engine
        gives none.
        """
        opening = self.role(name).open_scoring
        if opening is None:
            raise ConfigError(f"{name!r} gives no probabilities")
        return self.run.scoring(name, opening)
