"""What a role said that plays no episode: a reflector, an injector, a judge, a writer of goals."""

import msgspec

from synth.schemas import Usage


class RoleReply(msgspec.Struct, frozen=True):
    """One reply of a role that plays no episode: what it was asked about, what it said, what that
    has used.

    `question_id` is the same for all tries at a question, numbered by `ordinal`; `unreadable` says
    why a try was of no use, `repairs` what a lenient reader mended. `prompt_hash` is that of the
    role's instructions and of the form of its reply.
    """

    question_id: str
    ordinal: int
    subject_id: str
    task_id: str | None
    role: str
    purpose: str
    model: str
    weights_id: str | None
    content: str | None
    thought: str | None
    unreadable: str | None
    usage: Usage
    prompt_hash: str | None = None
    repairs: tuple[str, ...] = ()
