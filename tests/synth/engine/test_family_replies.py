"""Sixty replies dressed as models of ten families dress them, with what a careful person reads in
each (null: nothing), written before their author had read the reader: one is read wrongly.
"""

from pathlib import Path
from typing import Any

import msgspec

from synth.engine.roles.replies import UnreadableError, why_unusable
from synth.schemas.model import Completion
from tests.synth.engine.role_answers import value_of

FILE = Path(__file__).with_name("family_replies.jsonl")
CONTRADICTS_ITSELF = 45
"""Its reason says "does not leak", its verdict "leaks": no reader of forms sees that."""
NOT_READ = {25, 28, 32, 34}
""""4/5", a figure in prose, one that is corrected in prose, one in a box of LaTeX: asked for again.
"""


class FamilyReply(msgspec.Struct):
    role: str
    family: str
    finish: str
    content: str
    want: dict[str, Any] | None


def found_in(reply: FamilyReply) -> dict[str, Any] | None:
    said = Completion(content=reply.content, finish_reason=reply.finish)
    try:
        return None if why_unusable(said) else value_of(reply.role, said)
    except UnreadableError:
        return None


def test_what_a_careful_person_reads_is_read_or_asked_for_again_and_nothing_else_is() -> None:
    replies = msgspec.json.Decoder(FamilyReply).decode_lines(FILE.read_bytes())
    assert len(replies) == 60
    for at, reply in enumerate(replies):
        found = found_in(reply)
        if at in NOT_READ:
            assert (found, reply.want is None) == (None, False), at
        elif at == CONTRADICTS_ITSELF:
            assert found == {"leaks": True}
        elif reply.want is None:
            assert found is None, (at, found)
        else:
            assert found is not None, at
            assert {key: reply.want[key] for key in found if key in reply.want} == {
                key: value for key, value in found.items() if key in reply.want
            }, at
