"""Who&When: one failed multi-agent run per document, with the agent and the step that a person
blamed.

Every agent that speaks is a turn; the computer terminal and people are not agents. A speaker such
as `Orchestrator (-> WebSurfer)` is the agent `Orchestrator` in a role: a label `speaker_role` says
which. `mistake_step` is a 0-based message index in a string.
"""

import re
from typing import Any

import msgspec

from synth.importers.attempt import entry
from synth.importers.identity.known import benchmark_of
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

_TERMINALS = ("computerterminal",)
_PEOPLE = ("human", "user", "system", "")
_IN_ROLE = re.compile(r"\A(?P<agent>[^()]*[^()\s])\s*\((?P<role>[^()]*)\)\s*\Z")
ROLE = "speaker_role"
"""Metric of the labels that say in which role an agent spoke."""


class _Message(msgspec.Struct):
    content: str | None = None
    role: str = ""
    name: str | None = None

    @property
    def named(self) -> tuple[str, str | None]:
        """Who wrote it, and in which role."""
        return agent_and_role(self.role if self.name is None else self.name)

    @property
    def by_terminal(self) -> bool:
        """Whether a terminal wrote it, however it is spelled."""
        return _plain(self.named[0]) in _TERMINALS

    @property
    def speaker(self) -> str | None:
        """The agent that wrote it, None for the terminal and for people."""
        agent = self.named[0]
        is_person = self.name is None and agent.lower() in _PEOPLE
        return None if is_person or self.by_terminal else agent


def agent_and_role(speaker: str) -> tuple[str, str | None]:
    """`Orchestrator (-> WebSurfer)` is `Orchestrator`, who speaks as `-> WebSurfer`."""
    found = _IN_ROLE.match(speaker)
    return (found["agent"].strip(), found["role"].strip() or None) if found else (speaker, None)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


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

    return entry(
        record,
        "who_and_when",
        conversation,
        goal=run.question,
        benchmark=benchmark_of(run.question, "task", "who-and-when"),
        task={
            "env_config": {"system_prompts": prompts} if prompts else {},
            "script": {} if answer is None else {"answer": answer},
            "difficulty": {} if run.level is None else {"level": run.level},
        },
        marks=[_mistake(run), *_roles(run)],
        passed=bool(run.is_correct if run.is_correct is not None else run.is_corrected),
    )


FORMAT = by_record(recognises, _read)


def _mistake(run: _Run) -> ImportedLabel:
    """The label, at the turn of the message that it names. Raises `ValueError` for none."""
    step, count = int(run.mistake_step), len(run.history)
    if not 0 <= step < count:
        raise ValueError(f"mistake_step {step} of {count} messages")

    spoke = (one.speaker for one in run.history)
    speakers = {_plain(one): one for one in spoke if one is not None}
    # the label may spell an agent otherwise than the history does, or name its role too
    told = agent_and_role(run.mistake_agent)[0]
    agent, reason = speakers.get(_plain(told), told), run.mistake_reason
    speaker = run.history[step].speaker
    blamed = Blamed(message=step, agent=agent, speaker=speaker, reason=reason)
    turn = sum(message.speaker is not None for message in run.history[:step])
    at = None if speaker is None else turn
    return ImportedLabel("who_and_when.mistake", 1.0, at, blamed)


def _roles(run: _Run) -> list[ImportedLabel]:
    """In which roles agents spoke, by their turns."""
    spoken = [one.named for one in run.history if one.speaker is not None]
    return [
        ImportedLabel(ROLE, 1.0, turn, {"agent": agent, "role": role})
        for turn, (agent, role) in enumerate(spoken)
        if role is not None
    ]


def _conversation(run: _Run) -> Conversation:
    """The messages as turns of named agents with what they heard."""
    spoken: list[_Message] = []
    heard: list[list[Observation]] = [[]]

    for message in run.history:
        if message.speaker is not None:
            spoken.append(message)
            heard.append([])
            continue

        source = Source.ENVIRONMENT if message.by_terminal else Source.USER
        name = message.role if message.by_terminal and message.name is None else message.name
        heard[-1].append(Observation(message.content or "", source, name=name))

    turns = tuple(
        Turn(at, one.content or "", observations=tuple(heard[at + 1]), agent=one.speaker)
        for at, one in enumerate(spoken)
    )
    prompt = run.system_prompt if isinstance(run.system_prompt, str) else None
    return Conversation(prompt, tuple(heard[0]), turns)
