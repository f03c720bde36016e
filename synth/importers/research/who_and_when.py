"""Who&When: one failed multi-agent run per document, with the agent and the step that a person
blamed.

Every agent that speaks is a turn; the computer terminal and people are not agents. A speaker such
as `Orchestrator (-> WebSurfer)` is the agent `Orchestrator` in a role: a label `speaker_role` says
which. `mistake_step` is a 0-based message index in a string.
"""

import re
from functools import cached_property
from typing import Any

import msgspec

from synth.importers.attempt import entry
from synth.importers.conversation import text_of
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
from synth.importers.research.speakers import agent_and_role, meant, plain, spelled
from synth.importers.verdicts import verdict
from synth.schemas import Conversation, Observation, Source, Turn

_TERMINALS = ("computerterminal",)
_PEOPLE = ("human", "user", "userproxy", "system", "")
_STEP = re.compile(r"\A(?:step)?\s*(\d+)(?:\.0+)?\Z", re.IGNORECASE)
ROLE = "speaker_role"
"""Metric of the labels that say in which role an agent spoke."""


class _HistoryMessage(msgspec.Struct):
    content: Any = None
    role: str = ""
    name: str | None = None

    @property
    def named(self) -> tuple[str, str | None]:
        """Who wrote it, and in which role."""
        return agent_and_role(self.role if self.name is None else self.name)

    @property
    def by_terminal(self) -> bool:
        """Whether a terminal wrote it, however it is spelled."""
        return plain(self.named[0]) in _TERMINALS

    @property
    def agent(self) -> str | None:
        """The agent that wrote it, as it is spelled there; None for the terminal and for people."""
        named = self.named[0]
        return None if plain(named) in _PEOPLE or self.by_terminal else named


class _FailedRun(msgspec.Struct, dict=True):
    history: list[_HistoryMessage]
    question: str
    mistake_agent: str | None
    mistake_step: str | int | float | None
    mistake_reason: str | None = None
    is_correct: Any = None
    is_corrected: Any = None
    system_prompt: Object | str | None = None
    level: Any = None
    ground_truth: Any = None
    groundtruth: Any = None

    @cached_property
    def agents(self) -> dict[str, str]:
        """The agents that spoke, as they were first spelled, by their plain names."""
        return spelled(message.agent for message in self.history)

    def speaker(self, message: _HistoryMessage) -> str | None:
        """The agent that wrote a message, by the one name that it has in this run."""
        return None if message.agent is None else self.agents[plain(message.agent)]


def recognises(value: Any) -> bool:
    """A `history` with a `mistake_step`."""
    return is_object(value, "mistake_step", "question", history=list)


def _read(record: Record, settings: ImportSettings) -> Entry:
    run = msgspec.convert(record.value, _FailedRun)
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
        marks=[*_mistake(run), *_roles(run)],
        passed=bool(verdict(run.is_correct if run.is_correct is not None else run.is_corrected)),
    )


FORMAT = by_record(recognises, _read)


def _mistake(run: _FailedRun) -> list[ImportedLabel]:
    """The label, at the turn of the message that it names; none where nobody is blamed. Raises
    `ValueError` for a message that is not there.
    """
    if run.mistake_agent is None and run.mistake_step is None:
        return []
    found, count = _STEP.match(str(run.mistake_step).strip()), len(run.history)
    step = int(found[1]) if found else -1
    if not 0 <= step < count:
        raise ValueError(f"mistake_step {run.mistake_step} of {count} messages")

    # the label may spell an agent otherwise than the history does, or name its role too
    speaker, reason = run.speaker(run.history[step]), run.mistake_reason
    told = run.mistake_agent
    agent = speaker if told is None else meant(told, run.agents, speaker)
    blamed = Blamed(message=step, agent=agent, speaker=speaker, reason=reason)
    turn = sum(message.agent is not None for message in run.history[:step])
    at = None if speaker is None else turn
    return [ImportedLabel("who_and_when.mistake", 1.0, at, blamed)]


def _roles(run: _FailedRun) -> list[ImportedLabel]:
    """In which roles agents spoke, by their turns."""
    spoken = [(run.speaker(one), one.named[1]) for one in run.history if one.agent is not None]
    return [
        ImportedLabel(ROLE, 1.0, turn, {"agent": agent, "role": role})
        for turn, (agent, role) in enumerate(spoken)
        if role is not None
    ]


def _conversation(run: _FailedRun) -> Conversation:
    """The messages as turns of named agents with what they heard."""
    spoken: list[_HistoryMessage] = []
    heard: list[list[Observation]] = [[]]

    for message in run.history:
        if message.agent is not None:
            spoken.append(message)
            heard.append([])
            continue

        source = Source.ENVIRONMENT if message.by_terminal else Source.USER
        name = message.role if message.by_terminal and message.name is None else message.name
        heard[-1].append(Observation(text_of(message.content), source, name=name))

    turns = tuple(
        Turn(
            at,
            text_of(one.content),
            observations=tuple(heard[at + 1]),
            agent=run.speaker(one),
        )
        for at, one in enumerate(spoken)
    )
    prompt = run.system_prompt if isinstance(run.system_prompt, str) else None
    return Conversation(prompt, tuple(heard[0]), turns)
