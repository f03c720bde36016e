"""Interchange forms read back: by our importers, and, for what these have no use for, by the keys
that we wrote.
"""

from collections.abc import Mapping
from typing import Any

from synth.exporters import facts
from synth.exporters.attribution import AttributionRow
from synth.exporters.facts import RenderedChat
from synth.exporters.forms.atif import USAGE
from synth.exporters.forms.who_and_when import TERMINAL
from synth.importers.atif import OWN
from synth.importers.records import Imported, ImportSettings, Record
from synth.importers.sniff import format_of, importer
from synth.schemas.canonical import canonical_json, content_hash, digest
from synth.schemas.messages import ENVIRONMENT_NAME, SYSTEM_NAME, to_messages
from synth.schemas.model import Message
from synth.schemas.trajectory import Trajectory


class NotReadError(Exception):
    """What was written, and an importer does not take; the message is its reason."""


def imported(value: Any) -> Imported:
    """A JSON value as `synth import` reads it, by whichever format recognises it. Raises
    `NotReadError`.
    """
    name = format_of(value)
    if name is None:
        raise NotReadError("no importer knows it")
    record = Record(
        "written.json", digest(canonical_json(value)), "file", value, content_hash(value)
    )
    for entry in importer(name).read([record], ImportSettings()):
        if isinstance(entry, Imported):
            return entry
        raise NotReadError(
            f"{name}: {getattr(entry, 'reason', entry)}: {getattr(entry, 'detail', '')}"
        )
    raise NotReadError(f"{name} gives nothing")


def read_atif(document: Mapping[str, Any]) -> RenderedChat:
    """A document of ATIF: messages and masks by the importer; names and lineage from `extra`, of
    which it makes no use.
    """
    found = imported(document).trajectory
    messages = to_messages(found)
    steps = document["steps"]
    agents = [step for step in steps if step["source"] == "agent"]
    own = [_own(step) for step in agents]
    answers = [message for message in messages if message["role"] == "assistant"]
    for message, said in zip(answers, own, strict=True):
        message.update({"name": said["agent"]} if "agent" in said else {})
    _name(messages, [step for step in steps if step["source"] != "agent"])
    wrong = [
        (at, i)
        for at, step in enumerate(agents)
        for i, one in enumerate(step.get("observation", {}).get("results", ()))
        if _own(one).get("error")
    ]
    whole = dict(document["extra"][OWN])
    lineage = {name: whole[name] for name in facts.LINEAGE if name in whole} | {
        "trajectory_id": document["trajectory_id"]
    }
    model = document["agent"].get("model_name")
    known = facts.known_of(found) | {
        facts.ORIGIN: lineage | ({} if model is None else {"model": model}),
        facts.REWARD: _part(whole, "reward"),
        facts.CHECK: _part(whole, "check_result", "weights_id", "sampling"),
        facts.TURN_VALUES: _of_turns(own, "reward", "state_key"),
        facts.AUTHORS: _of_turns(own, "sampled_by", "injected"),
        facts.USAGE: {
            at: [step["metrics"].get(name) for name in USAGE]
            for at, step in enumerate(agents)
            if "prompt_tokens" in step.get("metrics", {})
        },
        facts.ERRORS: wrong,
    }
    return RenderedChat(
        messages,
        list(found.tools),
        {at: mask for at, mask in _masks(found).items() if "mask" in own[at]},
        known,
    )


def _name(messages: list[Message], steps: list[Mapping[str, Any]]) -> None:
    """Gives those that are neither agent nor tool the names that stand in `extra`; steps and
    messages have one order.
    """
    others = [message for message in messages if message["role"] in ("user", "system")]
    for message, step in zip(others, steps, strict=True):
        name = _own(step).get("name")
        if name is not None:
            message.update({"role": "user", "name": name})


def _own(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """What stands in `extra.synth` of a step or a result."""
    found: Mapping[str, Any] = part.get("extra", {}).get(OWN, {})
    return found


def _part(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _of_turns(own: list[Mapping[str, Any]], *names: str) -> dict[int, dict[str, Any]]:
    return {at: found for at, said in enumerate(own) if (found := _part(said, *names))}


_SESSION_KEYS = {
    "role": "role",
    "content": "content",
    "reasoningContent": "reasoning_content",
    "toolCalls": "tool_calls",
    "toolCallId": "tool_call_id",
}


def read_session(lines: list[dict[str, Any]]) -> RenderedChat:
    """A session by the keys of its lines: no importer of ours reads sessions."""
    header, *said = lines
    messages: list[Message] = [
        {
            name: line["message"][key]
            for key, name in _SESSION_KEYS.items()
            if key in line["message"]
        }
        for line in said
    ]
    lineage = _part(header, *facts.LINEAGE) | {"trajectory_id": header["id"]}
    kept_out = _part(lineage, "benchmark") | (
        {} if lineage.get("split") == "train" else _part(lineage, "split")
    )
    return RenderedChat(
        messages,
        [],
        {},
        {facts.ORIGIN: lineage, facts.KEPT_OUT: kept_out, facts.REWARD: _part(header, "reward")},
    )


def read_chat(line: Mapping[str, Any]) -> RenderedChat:
    """A line of OpenAI's form."""
    found = imported(line).trajectory
    weights = [
        message.get("weight", 1) for message in line["messages"] if message["role"] == "assistant"
    ]
    masked = {at: "" for at in _masks(found) if not weights[at]}
    return RenderedChat(
        to_messages(found), list(found.tools), masked, {facts.KEPT_OUT: facts.kept_out(found)}
    )


def _masks(found: Trajectory) -> dict[int, str]:
    return {turn.index: turn.mask for turn in found.turns if turn.mask is not None}


def told_of_failure(row: AttributionRow) -> RenderedChat:
    """What Who&When has a place for: what was said and by which agent, calls as text, and the
    mistake.
    """
    messages: list[Message] = []
    for at, message in enumerate(to_messages(row.trajectory, thoughts=False)):
        if message["role"] == "assistant":
            calls = [
                f"{call['function']['name']} {call['function']['arguments']}"
                for call in message.get("tool_calls", ())
            ]
            said = "\n".join([*([message["content"]] if message["content"] else []), *calls])
            messages.append(
                {"role": "assistant", "content": said, "name": message.get("name", "agent")}
            )
        elif at or message["role"] != "system" or row.trajectory.system_prompt is None:
            by_user = message["role"] == "user" and message.get("name") != ENVIRONMENT_NAME
            messages.append(
                {"role": "user", "content": message["content"]}
                | ({} if by_user else {"name": TERMINAL})
            )
    agent = row.trajectory.turns[row.cause.turn].agent or "agent"
    return RenderedChat(messages, [], {}, {facts.LABEL: {"turn": row.cause.turn, "agent": agent}})


def read_failure(row: Mapping[str, Any]) -> RenderedChat:
    """A row of Who&When; the importer tells what the terminal said as the environment's, under its
    name.
    """
    found = imported(row)
    (mark,) = found.marks
    messages = to_messages(found.trajectory)
    heard = [
        *found.trajectory.opening,
        *(o for turn in found.trajectory.turns for o in turn.observations),
    ]
    others = [message for message in messages if message["role"] != "assistant"]
    for message, observation in zip(others, heard, strict=True):
        if observation.name not in (None, SYSTEM_NAME):
            message.update({"name": observation.name})
    return RenderedChat(messages, [], {}, {facts.LABEL: {"turn": mark.turn, "agent": mark.blamed}})
