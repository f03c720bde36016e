"""Interchange forms read back: by our importers, and, for what these have no use for, by the keys
that we wrote.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from synth.exporters import facts
from synth.exporters.facts import RenderedChat
from synth.exporters.forms.who_and_when import history
from synth.exporters.kinds.attribution import AttributionRow
from synth.importers.interchange.atif import OWN
from synth.importers.records import Imported, ImportSettings, Record
from synth.importers.registry import format_of, importer
from synth.schemas import (
    SYSTEM_NAME,
    Message,
    Observation,
    SampledBy,
    Source,
    Trajectory,
    Turn,
    canonical_json,
    content_hash,
    digest,
    to_messages,
)

_SESSION_KEYS = {
    "role": "role",
    "content": "content",
    "reasoningContent": "reasoning_content",
    "toolCalls": "tool_calls",
    "toolCallId": "tool_call_id",
}


class NotReadError(Exception):
    """What was written, and an importer does not take; the message is its reason."""


def imported(value: Any) -> Imported:
    """A JSON value as `synth import` reads it, by whichever format recognises it. Raises
    `NotReadError`.
    """
    name = format_of(value)
    if name is None:
        raise NotReadError("no importer knows it")

    # a record as `synth import` would make it of a file
    sha = digest(canonical_json(value))
    record = Record("written.json", sha, "file", value, content_hash(value))
    entry = next(iter(importer(name).read([record], ImportSettings())), None)
    if isinstance(entry, Imported):
        return entry

    why = f": {getattr(entry, 'reason', entry)}: {getattr(entry, 'detail', '')}"
    raise NotReadError(f"{name} gives nothing" if entry is None else name + why)


def read_atif(document: Mapping[str, Any]) -> RenderedChat:
    """What the importer reads, and what it makes no use of: names, errors and what turns say of
    themselves in `extra`, the lineage in that of the document.
    """
    found = imported(document).trajectory
    agents = [step for step in document["steps"] if step["source"] == "agent"]
    others = [step for step in document["steps"] if step["source"] != "agent"]
    heard = iter(others[found.system_prompt is not None :])
    opening = tuple(_named(found.opening, iter(()), heard))

    turns = tuple(_turn(turn, step, heard) for turn, step in zip(found.turns, agents, strict=True))
    # trajectory and model have keys of their own in the format
    whole = {
        **document["extra"][OWN],
        "trajectory_id": document["trajectory_id"],
        "model": document["agent"].get("model_name"),
    }
    read = replace(found, opening=opening, turns=turns)
    chat = facts.rendered(read, to_messages(read), _masks(read))
    lineage = {name: facts.of(whole, fields) for name, fields in facts.OF_TRAJECTORY.items()}

    return replace(chat, known={**chat.known, **lineage})


def _turn(turn: Turn, step: Mapping[str, Any], heard: Iterator[Any]) -> Turn:
    """A turn with what its step says of it in `extra`."""
    own, metrics = _own(step), step.get("metrics", {})
    results = iter(step.get("observation", {}).get("results", ()))
    known = {
        **facts.of(own, ("agent", "reward", "state_key", "injected")),
        "sampled_by": SampledBy(own.get("sampled_by", SampledBy.POLICY)),
        "mask": turn.mask if "mask" in own else None,
        "usage": turn.usage if "prompt_tokens" in metrics else None,
    }
    observed = tuple(_named(turn.observations, results, heard))
    return replace(turn, observations=observed, **known)


def _named(
    observations: Iterable[Observation], results: Iterator[Any], heard: Iterator[Any]
) -> Iterator[Observation]:
    """Observations with the names and errors of the results and steps that they were read from, in
    their order: the importer gives neither.
    """
    for one in observations:
        if one.source is Source.TOOL:
            yield replace(one, error=_own(next(results)).get("error", False))
        else:
            name = _own(next(heard)).get("name")
            yield one if name is None else replace(one, source=Source.USER, name=name)


def _own(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """What stands in `extra.synth` of a step or a result."""
    found: Mapping[str, Any] = part.get("extra", {}).get(OWN, {})
    return found


def read_session(lines: list[dict[str, Any]]) -> RenderedChat:
    """A session by the keys of its lines: no importer of ours reads sessions."""
    header, *said = lines
    messages: list[Message] = [
        {_SESSION_KEYS[key]: value for key, value in line["message"].items() if key != "model"}
        for line in said
    ]

    # where a session comes from stands in its header, under our names
    lineage = facts.of(header, facts.LINEAGE) | {"trajectory_id": header["id"]}
    held_out = lineage.get("split") != "train"
    kept_out = facts.of(lineage, ("benchmark", "split") if held_out else ("benchmark",))
    known = {
        facts.ORIGIN: lineage,
        facts.KEPT_OUT: kept_out,
        facts.REWARD: facts.of(header, ("reward",)),
    }

    return RenderedChat(messages, [], {}, known)


def read_chat(line: Mapping[str, Any]) -> RenderedChat:
    """A line of OpenAI's form."""
    found = imported(line).trajectory
    answers = [message for message in line["messages"] if message["role"] == "assistant"]
    masked = {at: "" for at in _masks(found) if not answers[at].get("weight", 1)}
    known = {facts.KEPT_OUT: facts.kept_out(found)}

    return RenderedChat(to_messages(found), list(found.tools), masked, known)


def _masks(found: Trajectory) -> dict[int, str]:
    """By turn: why the importer takes it for one without loss."""
    return {turn.index: turn.mask for turn in found.turns if turn.mask is not None}


def told_of_failure(row: AttributionRow) -> RenderedChat:
    """What Who&When has a place for: what was said and by which agent, calls as text, and the
    mistake.
    """
    return _failure(history(row), row.cause.turn, row.blamed.agent or "agent")


def read_failure(row: Mapping[str, Any]) -> RenderedChat:
    """A row of Who&When; the importer tells what the terminal said as the environment's, under its
    name. Raises `NotReadError` where it blames nobody: a consumer looks for the mistake.
    """
    entry = imported(row)
    # the importer gives the mistake as a label on the imported run
    mark, found = next((one for one in entry.marks if one.blamed), None), entry.trajectory
    if mark is None:
        raise NotReadError("who_and_when: nobody is blamed")
    messages = to_messages(found)
    heard = [*found.opening, *(one for turn in found.turns for one in turn.observations)]
    others = [message for message in messages if message["role"] != "assistant"]

    for message, observation in zip(others, heard, strict=True):
        if observation.name not in (None, SYSTEM_NAME):
            message["name"] = observation.name

    return _failure(messages, mark.turn, mark.blamed)


def _failure(messages: list[Message], turn: int | None, agent: str | None) -> RenderedChat:
    """What is compared of a failed run: its messages, and the turn that is blamed with its
    agent.
    """
    return RenderedChat(messages, [], {}, {facts.LABEL: {"turn": turn, "agent": agent}})
