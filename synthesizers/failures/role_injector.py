"""The role `injector`: a language model that makes a mistake of a given mode plausible (AEGIS,
arXiv 2509.14295: response corruption).
"""

import json
import re
from collections.abc import Sequence

import msgspec

from synth.engine.asking import Answer, RoleClient, RoleRequest, UnreadableError, json_reply
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn, Opening
from synth.schemas.messages import view_messages
from synth.schemas.model import Completion, Message
from synth.schemas.trajectory import ToolCall, ToolSchema, Trajectory, Turn
from synth.synthesizers.failures.mistake import Mistake
from synth.synthesizers.failures.site import InjectionPoint, same_act
from synth.text.failure_modes import MODES
from synth.text.leaks import leaks
from synth.text.leaks.scan import COPIED, LITERAL, REFERENCE

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


class WrittenMistake(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call as the role writes it."""

    name: str
    arguments: dict[str, object]


class InjectorReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the role is to answer; there is no default for what it leaves out but the empty one."""

    description: str
    content: str | None = None
    tool_calls: list[WrittenMistake] = []


async def asked_for_mistake(
    asking: RoleClient, site: InjectionPoint, code: str, draw: int
) -> Answer[Mistake]:
    """The role's mistake. The answer has no value where it gave none that can be used; never the
    recorded turn.
    """
    question = about_site(site, "inject", TASK, code, draw)
    return await asking.ask(question, lambda completion: read_mistake(completion, site))


def about_site(site: InjectionPoint, purpose: str, form: str, code: str, draw: int) -> RoleRequest:
    """What a role is asked about a turn, under a task about a failure mode."""
    return RoleRequest(
        purpose=purpose,
        subject_id=site.twin.trajectory_id,
        task_id=site.twin.task_id,
        messages=shown_site(site, form, code),
        sampling={"temperature": TEMPERATURE},
        draw=draw,
    )


def read_mistake(completion: Completion, site: InjectionPoint) -> Mistake:
    """The mistake in a reply. Raises `UnreadableError` for one that is no JSON of the form asked
    for, uses a tool or argument that is not
    there, is empty, gives itself away, or is the recorded turn.
    """
    reply = json_reply(completion, InjectorReply)
    content = reply.content.strip() if reply.content is not None else None
    if not content and not reply.tool_calls:
        raise UnreadableError("the turn says nothing and does nothing")
    if content and _BETRAYS.search(content):
        raise UnreadableError("the turn gives away that it is a mistake made on purpose")
    turn = AgentTurn(content or None, tuple(fresh_call(site, call) for call in reply.tool_calls))
    if same_act(turn, AgentTurn(site.turn.content, site.turn.tool_calls)):
        raise UnreadableError("the turn is the recorded one; it must differ")
    return Mistake(turn, reply.description.strip()[:500])


def fresh_call(site: InjectionPoint, call: WrittenMistake) -> ToolCall:
    """A written call as one that can be made at a site. Raises `UnreadableError` for a tool or
    argument that is not there or missing.
    """
    _fits(call, {str(tool.get("function", tool).get("name")): tool for tool in site.twin.tools})
    return site.fresh(ToolCall.received("", call.name, canonical_json(call.arguments).decode()))


def _fits(call: WrittenMistake, schemas: dict[str, ToolSchema]) -> None:
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


DRAWS = 3
"""Replies of the agent to what was rewritten, of which one has to be another act than the recorded
one.
"""
LONGEST = 2000
_FORM = """You write a text that is slipped into what an agent reads before one turn of a recorded run, so that the agent itself makes a \
mistake there and the run comes to fail. The run succeeded as it is.
The failure mode is {code}, {name}: the agent {meaning}.
The text must lead such an agent to a plausible mistake of that mode at the recorded turn. It names no value that the agent has not seen, \
since the text is taken out again afterwards. It does not ask the agent to speak of it.
Answer with one JSON object and nothing else: {{"instruction": the text, "description": what is wrong with what the agent will do, in one \
sentence}}."""


class Instruction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is slipped in, and in words what is wrong with what follows from it."""

    instruction: str
    description: str


async def asked_for_instruction(
    asking: RoleClient, site: InjectionPoint, code: str, draw: int
) -> Answer[Instruction]:
    """The role's text. The answer has no value where it gave none that can be used."""
    return await asking.ask(about_site(site, "inject_prompt", _FORM, code, draw), _read)


def _read(completion: Completion) -> Instruction:
    reply = json_reply(completion, Instruction)
    if not reply.instruction.strip():
        raise UnreadableError("the instruction is empty")
    if len(reply.instruction) > LONGEST:
        raise UnreadableError(f"the instruction is longer than {LONGEST} characters")
    return Instruction(reply.instruction.strip(), reply.description.strip()[:500])


def rewritten(messages: Sequence[Message], instruction: str) -> list[Message]:
    """What the agent reads, with the text at the end of the last message."""
    last = messages[-1]
    return [
        *messages[:-1],
        {**last, "content": "\n\n".join(filter(None, (last.get("content"), instruction)))},
    ]


def gives_away(act: AgentTurn, instruction: str, twin: Trajectory, turn: int) -> bool:
    """Whether an act quotes the text, speaks of it, or holds a value that only the text had."""
    done = Turn(turn, content=act.content, thought=act.thought, tool_calls=act.tool_calls)
    transcript = msgspec.structs.replace(twin, turns=(*twin.turns[:turn], done))
    return any(
        leak.kind in (COPIED, REFERENCE, LITERAL)
        for leak in leaks(transcript, instruction, since=turn)
    )
