"""Interchange forms read back: by our importers, and, for what these have no use for, by the keys
that we wrote.
"""

from collections.abc import Mapping
from typing import Any

from synth.exporters import facts
from synth.exporters.attribution import AttributionRow
from synth.exporters.facts import RenderedChat
from synth.exporters.forms import who_and_when
from synth.importers.interchange.atif import OWN
from synth.importers.records import Imported, ImportSettings, Record
from synth.importers.registry import format_of, importer
from synth.schemas.canonical import canonical_json, content_hash, digest
from synth.schemas.messages import ENVIRONMENT_NAME, SYSTEM_NAME, to_messages
from synth.schemas.model import Message
from synth.schemas.trajectory import Trajectory

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
    sha = digest(canonical_json(value))
    record = Record("written.json", sha, "file", value, content_hash(value))
    entry = next(iter(importer(name).read([record], ImportSettings())), None)
    if isinstance(entry, Imported):
        return entry
    why = f": {getattr(entry, 'reason', entry)}: {getattr(entry, 'detail', '')}"
    raise NotReadError(f"{name} gives nothing" if entry is None else name + why)


def read_atif(document: Mapping[str, Any]) -> RenderedChat:
    """Messages and masks by the importer; names and lineage from `extra`, of which it makes no
    use.
    """
    found = imported(document).trajectory
    messages, steps = to_messages(found), document["steps"]
    agents = [step for step in steps if step["source"] == "agent"]
    own = [_own(step) for step in agents]
    answers = [message for message in messages if message["role"] == "assistant"]
    for message, said in zip(answers, own, strict=True):
        message.update({"name": said["agent"]} if "agent" in said else {})
    others = [message for message in messages if message["role"] in ("user", "system")]
    heard = [_own(step) for step in steps if step["source"] != "agent"]
    for message, said in zip(others, heard, strict=True):
        message.update({"role": "user", "name": said["name"]} if "name" in said else {})
    whole = {**document["extra"][OWN], "trajectory_id": document["trajectory_id"]}
    known = facts.known_of(found) | {
        facts.ORIGIN: _part(
            {**whole, "model": document["agent"].get("model_name")}, *facts.LINEAGE
        ),
        facts.REWARD: _part(whole, "reward"),
        facts.CHECK: _part(whole, "check_result", "weights_id", "sampling"),
        facts.TURN_VALUES: _of_turns(own, "reward", "state_key"),
        facts.AUTHORS: _of_turns(own, "sampled_by", "injected"),
        facts.USAGE: {
            at: [step["metrics"].get(name) for name in facts.COUNTED]
            for at, step in enumerate(agents)
            if "prompt_tokens" in step.get("metrics", {})
        },
        facts.ERRORS: [
            (at, i)
            for at, step in enumerate(agents)
            for i, one in enumerate(step.get("observation", {}).get("results", ()))
            if _own(one).get("error")
        ],
    }
    masked = {at: mask for at, mask in _masks(found).items() if "mask" in own[at]}
    return RenderedChat(messages, list(found.tools), masked, known)


def _own(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """What stands in `extra.synth` of a step or a result."""
    found: Mapping[str, Any] = part.get("extra", {}).get(OWN, {})
    return found


def _part(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if values.get(name) is not None}


def _of_turns(own: list[Mapping[str, Any]], *names: str) -> dict[int, dict[str, Any]]:
    return {at: found for at, said in enumerate(own) if (found := _part(said, *names))}


def read_session(lines: list[dict[str, Any]]) -> RenderedChat:
    """A session by the keys of its lines: no importer of ours reads sessions."""
    header, *said = lines
    messages: list[Message] = [
        {_SESSION_KEYS[key]: value for key, value in line["message"].items() if key != "model"}
        for line in said
    ]
    lineage = _part(header, *facts.LINEAGE) | {"trajectory_id": header["id"]}
    held_out = lineage.get("split") != "train"
    known = {
        facts.ORIGIN: lineage,
        facts.KEPT_OUT: _part(lineage, "benchmark", *(("split",) if held_out else ())),
        facts.REWARD: _part(header, "reward"),
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
    return {turn.index: turn.mask for turn in found.turns if turn.mask is not None}


def told_of_failure(row: AttributionRow) -> RenderedChat:
    """What Who&When has a place for: what was said and by which agent, calls as text, and the
    mistake.
    """
    messages: list[Message] = []
    for at, message in enumerate(to_messages(row.trajectory, thoughts=False)):
        said = {"role": "user", "content": message["content"]}
        if message["role"] == "assistant":
            calls = (call["function"] for call in message.get("tool_calls", ()))
            lines = [f"{call['name']} {call['arguments']}" for call in calls]
            content = "\n".join(filter(None, (message["content"], *lines)))
            said = {"role": "assistant", "content": content, "name": message.get("name", "agent")}
        elif message["role"] != "user" or message.get("name") == ENVIRONMENT_NAME:
            if not at and message["role"] == "system" and row.trajectory.system_prompt is not None:
                continue
            said["name"] = who_and_when.TERMINAL
        messages.append(said)
    agent = row.trajectory.turns[row.cause.turn].agent or "agent"
    return RenderedChat(messages, [], {}, {facts.LABEL: {"turn": row.cause.turn, "agent": agent}})


def read_failure(row: Mapping[str, Any]) -> RenderedChat:
    """A row of Who&When; the importer tells what the terminal said as the environment's, under its
    name.
    """
    entry = imported(row)
    (mark,), found = entry.marks, entry.trajectory
    messages = to_messages(found)
    heard = [*found.opening, *(one for turn in found.turns for one in turn.observations)]
    others = [message for message in messages if message["role"] != "assistant"]
    for message, observation in zip(others, heard, strict=True):
        if observation.name not in (None, SYSTEM_NAME):
            message.update({"name": observation.name})
    return RenderedChat(messages, [], {}, {facts.LABEL: {"turn": mark.turn, "agent": mark.blamed}})
