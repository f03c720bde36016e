"""An unfinished attempt taken up again: its replies come from the journal, its observations are
compared with it.
"""

from collections.abc import Sequence

from synth.boundary import FaultError
from synth.ledger.storage.journal import (
    Event,
    Journal,
    JournaledFault,
    JournaledReply,
    JournaledStep,
)
from synth.models.reply_health import unfinished
from synth.schemas import (
    ChatModel,
    Completion,
    Fault,
    Messages,
    ModelError,
    Observation,
    Sampling,
    ToolSchemas,
    content_hash,
)


class Resumption:
    """What the journal holds of one attempt, and the journal to go on writing; `live` once it has
    nothing more to say.

    `calls` counts those of all the attempt's models, the agent's and the user's.
    """

    def __init__(
        self, slot_id: str, attempt: int, events: Sequence[Event], journal: Journal
    ) -> None:
        self.slot_id = slot_id
        self.attempt = attempt
        self.replies = {e.ordinal: e for e in events if isinstance(e, JournaledReply)}
        self.steps = {e.turn: e.observed for e in events if isinstance(e, JournaledStep)}
        self.fault = next((e for e in events if isinstance(e, JournaledFault)), None)
        self.live = not events
        self.calls = 0
        self.journal = journal

    def observed(
        self, turn: int, observations: Sequence[Observation], state_key: str | None
    ) -> None:
        """Compares with the recorded answer, or records it. Raises `FaultError` (drift) where the
        world answers otherwise.
        """
        seen = content_hash([observations, state_key])
        recorded = None if self.live else self.steps.get(turn)
        if recorded is None:
            self.journal.append(JournaledStep(self.slot_id, self.attempt, turn, seen))
        elif recorded != seen:
            raise FaultError(
                Fault.DRIFT,
                f"turn {turn}: re-executed after an interruption, the world answered differently",
            )

    def refault(self, turn: int, phase: str) -> None:
        """Raises the fault that ended this attempt before the interruption, at the place where it
        did.
        """
        if (
            not self.live
            and self.fault is not None
            and (self.fault.turn, self.fault.phase) == (turn, phase)
        ):
            raise FaultError(self.fault.fault, self.fault.detail)

    def faulted(self, turn: int, phase: str, error: FaultError) -> None:
        """Records the fault that ends this attempt, unless the journal has it."""
        if self.live or self.fault is None:
            self.journal.append(
                JournaledFault(self.slot_id, self.attempt, turn, phase, error.fault, error.detail)
            )


class JournaledModel:
    """A chat model of one attempt: a journaled reply is never asked for again, a new one is on disk
    before it is used.

    A reply that is not the agent's (`reply_health`) is neither written nor taken from a journal
    that holds one, as earlier versions wrote.
    """

    def __init__(self, model: ChatModel, resumption: Resumption) -> None:
        self._model = model
        self._resumption = resumption

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def complete(
        self, messages: Messages, tools: ToolSchemas, sampling: Sampling
    ) -> Completion:
        """The journaled reply to this request, or the model's own. Raises `ModelError`."""
        resumption, ordinal = self._resumption, self._resumption.calls
        resumption.calls += 1
        request = content_hash([self._model.name, messages, tools, sampling])
        recorded = None if resumption.live else resumption.replies.get(ordinal)
        if (
            recorded is not None
            and recorded.request == request
            and unfinished(recorded.completion.finish_reason) is None
        ):
            return recorded.completion
        resumption.live = True
        completion = await self._model.complete(messages, tools, sampling)
        broken = unfinished(completion.finish_reason)
        if broken is not None:
            raise ModelError(
                f"model {self._model.name}: the reply is unusable: {broken}", retryable=True
            )
        resumption.journal.append(
            JournaledReply(resumption.slot_id, resumption.attempt, ordinal, request, completion)
        )
        return completion

    async def close(self) -> None:
        """Nothing: the model outlives the attempt."""
