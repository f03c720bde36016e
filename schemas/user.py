"""A model in the place of a world's rule-based user: the world's script says what the user says,
the model how it is worded.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from synth.schemas.model import ChatModel, Completion, Message
from synth.schemas.task import Task
from synth.schemas.trajectory import Deviation, Turn

USER = "user"
"""The role that plays it, for every other role of a flow."""
OPEN_LINE = "(what the user says here is left to the model that plays them)"
"""What a world without words of its own for its user says in their place: no agent is shown it."""


class UserScript(Protocol):
    """What a world knows about wording its user's lines; pure functions, so that a resumed attempt
    asks for the same again.
    """

    @property
    def version(self) -> str:
        """Of the prompt and of the rules of deviation: part of the identity of what is collected
        with them.
        """

    def prompt(self, task: Task, turns: Sequence[Turn], line: str) -> Sequence[Message] | None:
        """Asks for a wording of `line`; the last of `turns` is the one that it answers, with what
        was answered to it so far.

        None where the line is to be said as it stands.
        """

    def deviations(self, line: str, reply: Completion) -> Sequence[Deviation]:
        """Where a reply departs from the line; none where it says what the line says and nothing
        else.
        """


@runtime_checkable
class FreeUserScript(UserScript, Protocol):
    """A script that leaves what is said to the model: the world's own line is `OPEN_LINE`, and the
    user ends the talk.
    """

    def ends(self, words: str) -> bool:
        """Whether the user has ended the talk with these words."""


class User(msgspec.Struct, frozen=True, kw_only=True):
    """The role `user`: a model, how it is sampled, and what to do where `rewordings` further tries
    of a line are turned down as well.

    `unfit`: `script` says the line as it stands, and notes it; `fault` ends the attempt as invalid.
    """

    model: ChatModel
    name: str
    """By which its work is identified: the model's, as a flow names it."""
    script: UserScript
    sampling: Mapping[str, Any] = msgspec.field(default_factory=dict)
    rewordings: int = 2
    unfit: Literal["script", "fault"] = "script"

    def identity(self) -> Mapping[str, Any]:
        """What determines its words: part of the slot."""
        return {
            "model": self.name,
            "sampling": dict(self.sampling),
            "script": self.script.version,
            "rewordings": self.rewordings,
            "unfit": self.unfit,
        }
