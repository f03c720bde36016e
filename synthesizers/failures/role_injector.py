"""The role `injector`: a language model that makes a mistake of a given mode plausible (AEGIS,
arXiv 2509.14295: response corruption).
"""

import json
import re
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from synth.engine.asking import Answer, RoleClient, RoleRequest, UnreadableError
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn, Opening
from synth.schemas.messages import view_messages
from synth.schemas.model import Completion, Message
from synth.schemas.trajectory import ToolCall, ToolSchema
from synth.synthesizers.failures.mistake import Mistake
from synth.synthesizers.failures.site import InjectionPoint, same_act
from synth.text.failure_modes import MODES

T = TypeVar("T")
TEMPERATURE = 0.7
SHOWN_MESSAGES = 12
SHOWN_CHARACTERS = 2000
"""Of one message, of the system prompt, and of one tool."""
_BETRAYS = re.compile(
    r"\b(FM-\d|inject(ed|ion|or)?|failure mode|deliberate(ly)?|on "
    r"purpose|intentional(ly)?|plausible mistake)\b",
    re.IGNORECASE,
)

TASK = """You change one turn of a recorded run of an agent, so that the run comes to fail. The run succeeded as it is.
The failure mode is {code}, {name}: the agent {meaning}.
The changed turn must really be a mistake of that mode, must be likely to make the run fail, must be plausible for such an agent, and must \
differ from the recorded turn. It never says or hints that it is a mistake.
Answer with one JSON object and nothing else: {{"content": text or null, "tool_calls": [{{"name": tool, "arguments": {{...}}}}, ...], \
"description": what is wrong with the turn, in one sentence}}. Use only the tools listed, with arguments that fit their schemas."""


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call as the role writes it."""

    name: str
    arguments: dict[str, object]


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the role is to answer; there is no default for what it leaves out but the empty one."""

    description: str
    content: str | None = None
    tool_calls: list[Written] = []


_REPLY = msgspec.json.Decoder(Reply)


async def asked_for_mistake(
    asking: RoleClient, site: InjectionPoint, code: str, draw: int
) -> Answer[Mistake]:
    """The role's mistake. The answer has no value where it gave none that can be used; never the
    recorded turn.
    """
    question = RoleRequest(
        purpose="inject",
        subject_id=site.twin.trajectory_id,
        task_id=site.twin.task_id,
        messages=shown_site(site, TASK, code),
        sampling={"temperature": TEMPERATURE},
        draw=draw,
    )
    return await asking.ask(question, lambda completion: read_mistake(completion, site))


def read_mistake(completion: Completion, site: InjectionPoint) -> Mistake:
    """The mistake in a reply. Raises `UnreadableError` for one that is no JSON of the form asked
    for, uses a tool or argument that is not
    there, is empty, gives itself away, or is the recorded turn.
    """
    reply = json_reply(completion, _REPLY)
    content = reply.content.strip() if reply.content is not None else None
    if not content and not reply.tool_calls:
        raise UnreadableError("the turn says nothing and does nothing")
    if content and _BETRAYS.search(content):
        raise UnreadableError("the turn gives away that it is a mistake made on purpose")
    turn = AgentTurn(content or None, tuple(fresh_call(site, call) for call in reply.tool_calls))
    if same_act(turn, AgentTurn(site.turn.content, site.turn.tool_calls)):
        raise UnreadableError("the turn is the recorded one; it must differ")
    return Mistake(turn, reply.description.strip()[:500])


def json_reply(completion: Completion, decoder: "msgspec.json.Decoder[T]") -> T:
    """The JSON object in a reply. Raises `UnreadableError`."""
    text = completion.content or ""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise UnreadableError("it holds no JSON object")
    try:
        return decoder.decode(text[start : end + 1])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise UnreadableError(f"it is not the JSON object asked for: {error}"[:300]) from error


def fresh_call(site: InjectionPoint, call: Written) -> ToolCall:
    """A written call as one that can be made at a site. Raises `UnreadableError` for a tool or
    argument that is not there or missing.
    """
    _fits(call, {str(tool.get("function", tool).get("name")): tool for tool in site.twin.tools})
    return site.fresh(ToolCall.received("", call.name, canonical_json(call.arguments).decode()))


def _fits(call: Written, schemas: dict[str, ToolSchema]) -> None:
    if call.name not in schemas:
        raise UnreadableError(
            f"there is no tool {call.name[:60]!r}; the tools are {', '.join(schemas) or 'none'}"
        )
    schema = schemas[call.name].get("function", {}).get("parameters", {})
    known = schema.get("properties", {})
    strange = [name for name in call.arguments if known and name not in known]
    if strange:
        raise UnreadableError(f"{call.name} has no argument {strange[0][:60]!r}")
    missing = [name for name in schema.get("required", ()) if name not in call.arguments]
    if missing:
        raise UnreadableError(f"{call.name} lacks its argument {missing[0]!r}")


def shown_site(site: InjectionPoint, form: str, code: str) -> list[Message]:
    """What a role is shown of a turn and what leads to it, under a task about a failure mode."""
    mode, twin = MODES[code], site.twin
    shown = view_messages(Opening(None, (), twin.opening), twin.turns[: site.index])
    left_out = max(0, len(shown) - SHOWN_MESSAGES)
    parts = [
        f"What the agent is told to be:\n{_short(twin.system_prompt or '(nothing)')}",
        "Its tools:\n" + ("\n".join(_tool(tool) for tool in twin.tools) or "(none)"),
        f"What the run begins with:\n{_lines([m for m in shown[:1] if left_out])}"
        if left_out
        else "",
        "The last messages before the "
        f"turn{f' ({left_out} before them are left out)' if left_out else ''}:\n{_lines(shown[left_out:])}",
        "The recorded "
        f"turn:\n{_turn(AgentTurn(site.turn.content, site.turn.tool_calls, site.turn.thought))}",
    ]
    task = form.format(code=code, name=mode.name, meaning=mode.meaning)
    return [
        {"role": "system", "content": task},
        {"role": "user", "content": "\n\n".join(filter(None, parts))},
    ]


def _lines(messages: Sequence[Message]) -> str:
    return "\n".join(f"[{message['role']}] {_short(_said(message))}" for message in messages)


def _said(message: Message) -> str:
    calls = [
        f"{call['function']['name']} {call['function']['arguments']}"
        for call in message.get("tool_calls", ())
    ]
    return "\n".join(filter(None, [message.get("content") or "", *calls]))


def _turn(turn: AgentTurn) -> str:
    calls = [
        {
            "name": call.name,
            "arguments": call.arguments if call.parse_error is not None else call.parsed(),
        }
        for call in turn.tool_calls
    ]
    return json.dumps({"content": turn.content, "tool_calls": calls}, ensure_ascii=False)


def _tool(tool: ToolSchema) -> str:
    function = tool.get("function", tool)
    return _short(
        f"{function.get('name')}: {function.get('description', '')} "
        f"{json.dumps(function.get('parameters', {}), ensure_ascii=False)}"
    )


def _short(text: str) -> str:
    return (
        text
        if len(text) <= SHOWN_CHARACTERS
        else f"{text[:SHOWN_CHARACTERS]}... ({len(text)} characters)"
    )
