"""Asks the roles that write: `injector` makes a mistake of a given mode plausible (AEGIS, arXiv
2509.14295: response corruption), `corrector` names a step of a failed trial and the act that it
should have been (AgenTracer, arXiv 2509.03312).
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from synth.engine.asking import RoleRequest, UnreadableError, json_reply, prompt
from synth.schemas import (
    AgentTurn,
    Completion,
    Message,
    Opening,
    SampledBy,
    ToolCall,
    ToolSchema,
    Trajectory,
    Turn,
    canonical_json,
    view_messages,
)
from synth.synthesizers.failures.forms import form_with
from synth.synthesizers.failures.mistakes.point import InjectionPoint, Mistake, same_act
from synth.synthesizers.failures.mistakes.transcript import InjectionTranscript
from synth.text.failure_modes import MODES
from synth.text.leaks import leaks
from synth.text.leaks.scan import COPIED, LITERAL, REFERENCE
from synth.text.provenance.arguments import parameters
from synth.text.transcript.acts import act_digest
from synth.text.transcript.log import log_of

TEMPERATURE = 0.7
DRAWS = 3
"""Samples of the agent after the injector's text, one of which must differ from the recorded act.
"""
SHOWN_MESSAGES = 12
SHOWN_CHARACTERS = 2000
"""The most of one message, of the system prompt, and of one tool."""
LONGEST = 2000
"""The most characters of an injector's text."""
_BETRAYS = re.compile(
    r"\b(FM-\d|inject(ed|ion|or)?|failure mode|deliberate(ly)?|on "
    r"purpose|intentional(ly)?|plausible mistake)\b",
    re.IGNORECASE,
)


class WrittenCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call as a role writes it."""

    name: str
    arguments: dict[str, Any]


class WrittenTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A turn as a role writes it; fields that it leaves out are empty."""

    content: str | None = None
    tool_calls: list[WrittenCall] = []


class InjectorReply(WrittenTurn, frozen=True, kw_only=True):
    """The form of the injector's reply."""

    description: str


class CorrectorReply(WrittenTurn, frozen=True, kw_only=True):
    """The form of the corrector's reply."""

    step: int


class Instruction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The text that the injector puts before the agent, and a description of the mistake that
    follows from it.
    """

    instruction: str
    description: str


class Correction(msgspec.Struct, frozen=True):
    """An act in place of the recorded one at a turn."""

    turn: int
    act: AgentTurn

    @property
    def key(self) -> tuple[int, str]:
        """Tells corrections apart."""
        return self.turn, act_digest(self.act)


def injector_question(site: InjectionPoint, name: str, code: str, draw: int) -> RoleRequest:
    """Asks the injector for a mistake of a mode at a turn: `turn` rewrites the turn, `text` adds to
    the messages that the agent reads before it.
    """

    mode = MODES[code]
    twin = site.twin
    shown = view_messages(Opening(None, (), twin.opening), twin.turns[: site.index])
    # the first message is shown even so: it holds the task
    left_out = max(0, len(shown) - SHOWN_MESSAGES)
    hint = f" ({left_out} before them are left out)" if left_out else ""
    parts = {
        "What the agent is told to be": _short(twin.system_prompt or "(nothing)"),
        "Its tools": "\n".join(map(_tool, twin.tools)) or "(none)",
        "What the run begins with": _lines(shown[:1]) if left_out else None,
        f"The last messages before the turn{hint}": _lines(shown[left_out:]),
        "The recorded turn": _turn(site.turn),
    }

    purpose = {"turn": "inject", "text": "inject_prompt"}[name]
    task = prompt(f"injector/{name}").format(code=code, name=mode.name, meaning=mode.meaning)
    said = [f"{title}:\n{text}" for title, text in parts.items() if text is not None]
    sampling = {"temperature": TEMPERATURE}

    kind = {"turn": InjectorReply, "text": Instruction}[name]
    form = form_with("mistake", kind, twin.tools, twin.turns)

    return RoleRequest.about(twin, purpose, task, *said, sampling=sampling, draw=draw, form=form)


def read_mistake(completion: Completion, site: InjectionPoint) -> Mistake:
    """Reads the mistake from a reply. Raises `UnreadableError` for a reply that is no JSON of the
    form, uses an unknown tool or argument, is empty, gives itself away, or equals the recorded
    turn.
    """

    reply = json_reply(completion, InjectorReply)
    if _BETRAYS.search(reply.content or ""):
        raise UnreadableError("the turn gives away that it is a mistake made on purpose")

    turn = _written_turn(site, reply, "the turn")

    if same_act(turn, site.turn):
        raise UnreadableError("the turn is the recorded one; it must differ")

    return Mistake(turn, reply.description.strip()[:500])


def read_instruction(completion: Completion) -> Instruction:
    """Reads the text from a reply. Raises `UnreadableError` for one that is empty or too long."""
    reply = json_reply(completion, Instruction)
    if not reply.instruction.strip():
        raise UnreadableError("the instruction is empty")
    if len(reply.instruction) > LONGEST:
        raise UnreadableError(f"the instruction is longer than {LONGEST} characters")
    return Instruction(reply.instruction.strip(), reply.description.strip()[:500])


def corrector_question(trial: Trajectory, tried: Sequence[Correction], draw: int) -> RoleRequest:
    """Asks the corrector about a failed trial, and tells it which corrections did not help."""
    lines = [
        f"\n- step {one.turn}: {one.act.content or ''} "
        f"{[(call.name, call.arguments) for call in one.act.tool_calls]}"
        for one in tried
    ]
    failed = "These were tried, and did not help; propose another:" + "".join(lines)
    said = [log_of(trial), *([failed] if tried else [])]
    form = form_with("correction", CorrectorReply, trial.tools, trial.turns, _own_steps(trial))
    return RoleRequest.about(
        trial, "correct", prompt("corrector/role"), *said, draw=draw, form=form
    )


def _own_steps(trial: Trajectory) -> list[int]:
    """The steps that the agent itself took."""
    return [turn.index for turn in trial.turns if turn.sampled_by is not SampledBy.CANNED]


def read_correction(
    completion: Completion, trial: Trajectory, tried: Collection[Correction]
) -> Correction:
    """Reads the correction from a reply. Raises `UnreadableError` for a step that the agent did not
    take, and for an act that is empty, the recorded one, or tried already.
    """

    reply = json_reply(completion, CorrectorReply)
    own = _own_steps(trial)

    if reply.step not in own:
        took = f"; it took {own[0]} to {own[-1]}" if own else ""
        raise UnreadableError(f"there is no step {reply.step} of the agent{took}")

    site = InjectionPoint(InjectionTranscript(trial), reply.step)
    act = _written_turn(site, reply, "the correction")

    if same_act(act, site.turn):
        raise UnreadableError("that is what the agent did there; it must differ")

    found = Correction(reply.step, act)

    if found.key in {one.key for one in tried}:
        raise UnreadableError("that was tried already, and did not help")

    return found


def _written_turn(site: InjectionPoint, written: WrittenTurn, what: str) -> AgentTurn:
    """Turns a role's text and calls into a turn. Raises `UnreadableError` for an empty one, and for
    an unknown or missing tool or argument.
    """

    said = (written.content or "").strip() or None
    if said is None and not written.tool_calls:
        raise UnreadableError(f"{what} says nothing and does nothing")

    schemas = site.transcript.tools

    for call in written.tool_calls:
        name = call.name
        if name not in schemas:
            known = ", ".join(schemas) or "none"
            raise UnreadableError(f"there is no tool {name[:60]!r}; the tools are {known}")

        schema = parameters(schemas[name])
        arguments = schema.get("properties", {})
        strange = [one for one in call.arguments if arguments and one not in arguments]

        if strange:
            raise UnreadableError(f"{name} has no argument {strange[0][:60]!r}")

        missing = [one for one in schema.get("required", ()) if one not in call.arguments]

        if missing:
            raise UnreadableError(f"{name} lacks its argument {missing[0]!r}")

    received = [ToolCall.received("", one.name, _json(one.arguments)) for one in written.tool_calls]

    return AgentTurn(said, tuple(map(site.fresh, received)))


def _json(arguments: Mapping[str, object]) -> str:
    """Arguments as canonical JSON."""
    return canonical_json(arguments).decode()


def rewritten(messages: Sequence[Message], instruction: str) -> list[Message]:
    """Appends the text to the last message that the agent reads."""
    *before, last = messages
    content = "\n\n".join(filter(None, (last.get("content"), instruction)))
    return [*before, {**last, "content": content}]


def gives_away(act: AgentTurn, instruction: str, twin: Trajectory, turn: int) -> bool:
    """Whether an act quotes the text, speaks of it, or holds a value that only the text had."""
    done = Turn(turn, content=act.content, thought=act.thought, tool_calls=act.tool_calls)
    transcript = msgspec.structs.replace(twin, turns=(*twin.turns[:turn], done))
    found = leaks(transcript, instruction, since=turn)
    return any(leak.kind in (COPIED, REFERENCE, LITERAL) for leak in found)


def _lines(messages: Sequence[Message]) -> str:
    """Messages as text, one block each."""
    lines = []
    for message in messages:
        calls = [call["function"] for call in message.get("tool_calls", ())]
        said = (message.get("content"), *(f"{one['name']} {one['arguments']}" for one in calls))
        lines.append(f"[{message['role']}] {_short(chr(10).join(filter(None, said)))}")

    return "\n".join(lines)


def _turn(turn: Turn) -> str:
    """A turn as the JSON that the injector is to answer with."""
    calls = []
    for call in turn.tool_calls:
        arguments = call.arguments if call.parse_error is not None else call.parsed()
        calls.append({"name": call.name, "arguments": arguments})

    return json.dumps({"content": turn.content, "tool_calls": calls}, ensure_ascii=False)


def _tool(tool: ToolSchema) -> str:
    """A tool in one line."""
    function = tool.get("function", tool)
    parameters = json.dumps(function.get("parameters", {}), ensure_ascii=False)
    return _short(f"{function.get('name')}: {function.get('description', '')} {parameters}")


def _short(text: str) -> str:
    """Cuts a text, and says how long it was."""
    if len(text) <= SHOWN_CHARACTERS:
        return text
    return f"{text[:SHOWN_CHARACTERS]}... ({len(text)} characters)"
