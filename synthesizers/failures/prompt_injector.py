"""The role `injector`, by prompt: it rewrites what the agent reads, and the agent makes the mistake
itself (AEGIS, arXiv 2509.14295).

What it writes stands in no transcript: the agent's act alone is put before the turn, and who goes
on after it reads nothing of the text.
"""

from collections.abc import Sequence

import msgspec

from synth.engine.asking import Answer, RoleClient, RoleRequest, UnreadableError
from synth.schemas.environment import AgentTurn
from synth.schemas.model import Completion, Message
from synth.schemas.trajectory import Trajectory, Turn
from synth.synthesizers.failures.role_injector import TEMPERATURE, json_reply, shown_site
from synth.synthesizers.failures.site import InjectionPoint
from synth.text.leaks import leaks
from synth.text.leaks.scan import COPIED, LITERAL, REFERENCE

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


_REPLY = msgspec.json.Decoder(Instruction)


async def asked_for_instruction(
    asking: RoleClient, site: InjectionPoint, code: str, draw: int
) -> Answer[Instruction]:
    """The role's text. The answer has no value where it gave none that can be used."""
    question = RoleRequest(
        purpose="inject_prompt",
        subject_id=site.twin.trajectory_id,
        task_id=site.twin.task_id,
        messages=shown_site(site, _FORM, code),
        sampling={"temperature": TEMPERATURE},
        draw=draw,
    )
    return await asking.ask(question, _read)


def _read(completion: Completion) -> Instruction:
    reply = json_reply(completion, _REPLY)
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
