"""What a judge is asked about one turn: whether it shows that the agent had been told something."""

import msgspec

from synth.engine.asking import RoleRequest, chat, json_reply, prompt, response_form
from synth.schemas import Completion, Trajectory, content_hash
from synth.text.leaks import Leak
from synth.text.transcript.log import log_of, quoted

PURPOSE = "leaks"


class _Reply(msgspec.Struct, forbid_unknown_fields=True):
    """What is answered about a turn."""

    reason: str
    leaks: bool


FORM = {"response_format": response_form("leaks", _Reply)}
"""Asks a server of OpenAI's form for an object; the prompt says the same in words."""


def read(completion: Completion) -> bool:
    """Whether a reply sees a leak. Raises `UnreadableError` for another form."""
    return json_reply(completion, _Reply).leaks


def about_turn(trajectory: Trajectory, leak: Leak, draw: int, temperature: float) -> RoleRequest:
    """One draw about a suspected turn: the log as far as it, and what the agent was whispered."""
    turns = tuple(turn for turn in trajectory.turns if turn.index <= leak.turn)
    # what a tool answers to the turn was not known when it was written
    last = msgspec.structs.replace(turns[-1], observations=())
    shown = msgspec.structs.replace(trajectory, turns=(*turns[:-1], last))
    log = f"{quoted(trajectory.system_prompt or '')}\n{log_of(shown)}"
    written = f"step {leak.turn}; look above all at {quoted(leak.what[:400])}"

    return question(
        trajectory.trajectory_id, log, trajectory.guidance or "", written, draw, temperature
    )


def question(
    subject: str, log: str, lesson: str, written: str, draw: int, temperature: float
) -> RoleRequest:
    """What is asked of a real turn, and of one that was planted."""
    parts = [
        f"What everybody can see:\n{log}",
        f"What the agent alone was told, as a JSON string:\n{quoted(lesson)}",
        f"What the agent wrote:\n{written}",
    ]
    seed = int(content_hash([PURPOSE, subject, written, draw], size=4), 16) % 2**31

    return RoleRequest(
        purpose=PURPOSE,
        subject_id=subject,
        messages=chat(prompt("judge/leaks"), *parts),
        sampling={"temperature": temperature, "seed": seed, "extra": FORM},
        draw=draw,
    )
