"""Who&When: one failed multi-agent run per document, with the agent and the step that a person
blamed.

Every agent that speaks is a turn; the computer terminal and people are not agents. `mistake_step`
is a 0-based message index in a string.
"""

from typing import Any

import msgspec

from synth.importers.attempt import entry
from synth.importers.records import (
    Blamed,
    Entry,
    ImportedLabel,
    ImportSettings,
    Object,
    Record,
    by_record,
    is_object,
)
from synth.schemas import Conversation, Observation, Source, Turn

_TERMINAL = "Computer_terminal"
_PEOPLE = ("human", "user", "system", "")


class _Message(msgspec.Struct):
    content: str | None = None
    role: str = ""
    name: str | None = None

    @property
    def speaker(self) -> str | None:
        """The agent that wrote it, None for the terminal and for people."""
        speaker, others = (self.role, _PEOPLE) if self.name is None else (self.name, (_TERMINAL,))
        return None if speaker in others else speaker


class _Run(msgspec.Struct):
    history: list[_Message]
    question: str
    mistake_agent: str
    mistake_step: str | int
    mistake_reason: str | None = None
    is_correct: bool | None = None
    is_corrected: bool | None = None
    system_prompt: Object | str | None = None
    level: Any = None
    ground_truth: Any = None
    groundtruth: Any = None


def recognises(value: Any) -> bool:
    """A `history` with a `mistake_step`."""
    return is_object(value, "mistake_step", "question", history=list)


def _read(record: Record, settings: ImportSettings) -> Entry:
    run = msgspec.convert(record.value, _Run)
    conversation = _conversation(run)
    if not conversation.turns:
        return record.rejected("no_turns", "no agent spoke")

    answer = run.ground_truth if run.ground_truth is not None else run.groundtruth
    prompts = run.system_prompt if isinstance(run.system_prompt, dict) else {}
    generated = any(message.name for message in run.history)

    return entry(
        record,
        "who_and_when",
        conversation,
        goal=run.question,
        benchmark=f"who-and-when/{'algorithm-generated' if generated else 'hand-crafted'}",
        task={
            "env_config": {"system_prompts": prompts} if prompts else {},
            "script": {} if answer is None else {"answer": answer},
            "difficulty": {} if run.level is None else {"level": run.level},
        },
        marks=[_mistake(run)],
        passed=bool(run.is_correct if run.is_correct is not None else run.is_corrected),
    )


FORMAT = by_record(recognises, _read)


def _mistake(run: _Run) -> ImportedLabel:
    """The label, at the turn of the message that it names. Raises `ValueError` for none."""
    step, count = int(run.mistake_step), len(run.history)
    if not 0 <= step < count:
        raise ValueError(f"mistake_step {step} of {count} messages")

    agent, reason = run.mistake_agent, run.mistake_reason
    speaker = run.history[step].speaker
    blamed = Blamed(message=step, agent=agent, speaker=speaker, reason=reason)
    turn = sum(message.speaker is not None for message in run.history[:step])
    at = None if speaker is None else turn
    return ImportedLabel("who_and_when.mistake", 1.0, at, blamed)


def _conversation(run: _Run) -> Conversation:
    """The messages as turns of named agents with what they heard."""
    spoken: list[_Message] = []
    heard: list[list[Observation]] = [[]]

    for message in run.history:
        if message.speaker is not None:
            spoken.append(message)
            heard.append([])
            continue

        source = Source.ENVIRONMENT if message.name == _TERMINAL else Source.USER
        heard[-1].append(Observation(message.content or "", source, name=message.name))

    turns = tuple(
        Turn(at, one.content or "", observations=tuple(heard[at + 1]), agent=one.speaker)
        for at, one in enumerate(spoken)
    )
    prompt = run.system_prompt if isinstance(run.system_prompt, str) else None
    return Conversation(prompt, tuple(heard[0]), turns)
