"""Who&When: one failed multi-agent run per document, with the agent and the step that a person
blamed.

Every agent that speaks is a turn; the computer terminal and people are not agents. `mistake_step`
is a 0-based message index in a string.
"""

from typing import Any

import msgspec

from synth.importers.attempt import entry, import_task
from synth.importers.records import (
    Blamed,
    Entry,
    ImportedLabel,
    ImportSettings,
    Record,
    by_record,
    is_object,
)
from synth.schemas.canonical import valid_text
from synth.schemas.messages import Conversation
from synth.schemas.trajectory import Observation, Source, Turn

_TERMINAL = "Computer_terminal"


class _Message(msgspec.Struct):
    content: str | None = None
    role: str = ""
    name: str | None = None


class _Run(msgspec.Struct):
    history: list[_Message]
    question: str
    mistake_agent: str
    mistake_step: str | int
    mistake_reason: str | None = None
    question_ID: str | None = None  # noqa: N815 (the file's own name)
    is_correct: bool | None = None
    is_corrected: bool | None = None
    system_prompt: dict[str, Any] | str | None = None
    level: Any = None
    ground_truth: Any = None
    groundtruth: Any = None


def recognises(value: Any) -> bool:
    """A `history` with a `mistake_step`."""
    return is_object(value, "mistake_step", "question", history=list)


def _run(record: Record, settings: ImportSettings) -> Entry:
    run = msgspec.convert(record.value, _Run)
    conversation, turn_of_message = _conversation(run.history)
    if isinstance(run.system_prompt, str):
        conversation = msgspec.structs.replace(
            conversation, system_prompt=valid_text(run.system_prompt)
        )
    if not conversation.turns:
        return record.rejected("no_turns", "no agent spoke")
    step = int(run.mistake_step)
    if not 0 <= step < len(run.history):
        raise ValueError(f"mistake_step {step} of {len(run.history)} messages")
    answer = run.ground_truth if run.ground_truth is not None else run.groundtruth
    prompts = run.system_prompt if isinstance(run.system_prompt, dict) else None
    task = import_task(
        "who_and_when",
        run.question,
        env_config={"system_prompts": prompts} if prompts else {},
        script={} if answer is None else {"answer": answer},
        difficulty={} if run.level is None else {"level": run.level},
        benchmark="who-and-when/"
        + (
            "algorithm-generated"
            if any(message.name for message in run.history)
            else "hand-crafted"
        ),
    )
    solved = run.is_correct if run.is_correct is not None else run.is_corrected
    speaker = _speaker(run.history[step])
    blamed = Blamed(
        message=step, agent=run.mistake_agent, speaker=speaker, reason=run.mistake_reason
    )
    mistake = ImportedLabel("who_and_when.mistake", 1.0, turn_of_message[step], blamed)
    return entry(record, "who_and_when", conversation, task, marks=(mistake,), passed=bool(solved))


def _conversation(history: list[_Message]) -> tuple[Conversation, list[int | None]]:
    """The messages as turns of named agents with what they heard, and the turn that each message
    is.
    """
    opening: list[Observation] = []
    heard: list[list[Observation]] = []
    spoken: list[tuple[str, str]] = []
    turn_of_message: list[int | None] = []
    for message in history:
        text, speaker = valid_text(message.content or ""), _speaker(message)
        if speaker is not None:
            turn_of_message.append(len(spoken))
            spoken.append((speaker, text))
            heard.append([])
            continue
        turn_of_message.append(None)
        source = Source.ENVIRONMENT if message.name == _TERMINAL else Source.USER
        (heard[-1] if heard else opening).append(Observation(text, source, name=message.name))
    turns = tuple(
        Turn(i, content, observations=tuple(heard[i]), agent=agent)
        for i, (agent, content) in enumerate(spoken)
    )
    return Conversation(None, tuple(opening), turns), turn_of_message


def _speaker(message: _Message) -> str | None:
    """The agent that wrote a message, None for the terminal and for people."""
    if message.name is not None:
        return None if message.name == _TERMINAL else valid_text(message.name)
    return None if message.role in ("human", "user", "system", "") else valid_text(message.role)


FORMAT = by_record(recognises, _run)
