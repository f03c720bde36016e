"""FireAct results: an object of episodes by question number, each a list of messages or one
Alpaca-style text (by model).

`reward` is exact match with the expected answer, a strict test: `f1` stands beside it as a score.
Dataset, split, model and temperature are what the file's name claims; nothing inside says so.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from synth.importers.attempt import entry, import_task
from synth.importers.react_text import react_steps, react_turns
from synth.importers.records import (
    Entry,
    ImportedLabel,
    ImportSettings,
    Record,
    by_record,
    each,
)
from synth.schemas.messages import Conversation
from synth.schemas.outcome import Termination
from synth.schemas.trajectory import Observation, Source

_ALPACA = re.compile(
    r"\A(?P<system>.*?)\n*### Instruction:\n(?P<question>.*?)\n+### Response:\n(?P<response>.*)\Z",
    re.DOTALL,
)
_NAME = re.compile(
    r"^(?P<dataset>[a-z]+)_(?P<split>dev|test|train)_\d+_\d+_(?P<model>.+)_(?P<temperature>\d+\.\d+)_\d{4}-\d\d-\d\d-"
)
_OBSERVATION = "Observation:"
_FINISHED = "Episode finished"


class _Episode(msgspec.Struct):
    traj: list[dict[str, Any]] | str
    reward: bool | float | None = None
    em: bool | float | None = None
    f1: float | None = None
    gt: Any = None
    pred: Any = None
    prompt: Any = None


def recognises(value: Any) -> bool:
    """An object of objects that have `traj`, `em` and `gt`."""
    first = next(iter(value.values()), None) if isinstance(value, Mapping) else None
    return isinstance(first, Mapping) and {"traj", "em", "gt"} <= set(first)


def _episodes(record: Record, settings: ImportSettings) -> Iterator[Entry]:
    if not isinstance(record.value, Mapping):
        raise ValueError("no object of episodes")
    parts = (record.part(str(key), value) for key, value in record.value.items())
    yield from each(parts, lambda one: _episode(one, settings))


def _episode(record: Record, settings: ImportSettings) -> Entry:
    episode = msgspec.convert(record.value, _Episode)
    conversation = _conversation(episode)
    named = _NAME.match(record.file.rsplit("/", 1)[-1])
    dataset = named["dataset"] if named else "unknown"
    task = import_task(
        f"fireact/{dataset}",
        conversation.opening[0].content.strip(),
        script={} if episode.gt is None else {"answer": episode.gt},
        benchmark=f"{dataset}/{named['split']}" if named else "fireact/unknown",
    )
    heard = [o.content for turn in conversation.turns[-1:] for o in turn.observations]
    finished = bool(heard) and heard[-1].startswith(_FINISHED)
    reward = None if episode.reward is None else float(episode.reward)
    return entry(
        record,
        "fireact",
        conversation,
        task,
        marks=() if episode.f1 is None else (ImportedLabel("f1", episode.f1),),
        no_turns="the model wrote nothing",
        passed=settings.passed(reward),
        reward=reward,
        termination=Termination.DONE if finished else Termination.UNREPORTED,
        model=named["model"] if named else None,
        sampling={"temperature": float(named["temperature"])} if named else {},
    )


def _conversation(episode: _Episode) -> Conversation:
    """Question and turns of either shape. Raises `ValueError`."""
    if isinstance(episode.traj, str):
        parts = _ALPACA.match(episode.traj)
        if parts is None:
            raise ValueError("traj has no ### Instruction and ### Response")
        opening = (Observation(parts["question"], Source.USER),)
        return Conversation(
            parts["system"] or None, opening, react_turns(react_steps(parts["response"]))
        )
    texts = [message.get("content") for message in episode.traj]
    roles = [message.get("role") for message in episode.traj]
    if not texts or roles != ["user", "assistant"] * (len(roles) // 2) + ["user"] * (
        len(roles) % 2
    ):
        raise ValueError("traj is no list of user and assistant messages in turn")
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("traj has a message without text")
    steps = []
    for at in range(1, len(texts), 2):
        answer = texts[at + 1] if at + 1 < len(texts) else None
        steps.append(
            (
                str(texts[at]).strip(),
                None if answer is None else str(answer).removeprefix(_OBSERVATION).strip(),
            )
        )
    return Conversation(None, (Observation(str(texts[0]), Source.USER),), react_turns(steps))


FORMAT = by_record(recognises, _episodes)
