"""What a model that plays the customer is told: the conversation as the customer has it, and the
line that is said next.

Not the script: what a model does not know it cannot give away, and what is said when is the
script's matter, not the model's.
"""

from collections.abc import Iterator, Sequence

from synth.envs.storefront.customer.customer import LINES
from synth.envs.storefront.customer.line_content import COPIED, deviations, marks, most_words
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.transcript import Exchange, event_log, legible
from synth.schemas import AgentTurn, Completion, Deviation, Message, Task, Turn

MOST_MESSAGES = 8
"""Of the conversation, the last ones: a line answers what was said just before."""
LONGEST_MESSAGE = 800
_TOLD = texts("user_prompt")
_TONES = _TOLD["tones"]


class StorefrontUser:
    """The storefront's customer, worded by a model."""

    version = "1"

    def prompt(self, task: Task, turns: Sequence[Turn], line: str) -> Sequence[Message] | None:
        """The rules, the last messages, and the line; the tone is the task's. A whole request is
        said in the task's own words.
        """
        if line.startswith(LINES["reminder"].format("")):
            return None

        spoken = [
            f"you: {task.goal}",
            *(said for turn in turns for said in _spoken(turn)),
        ][-MOST_MESSAGES:]

        exact = [value for kind, value in marks(line) if kind in COPIED]

        asked = [
            "The conversation so far:",
            *spoken,
            "",
            f"What you say next: {line}",
        ]

        asked += [f"Copy exactly: {', '.join(exact)}"] if exact else []
        asked += [f"At most {most_words(line)} words."]

        return [
            {
                "role": "system",
                "content": _TOLD["rules"].format(tone=_TONES[task.seed % len(_TONES)]),
            },
            {"role": "user", "content": "\n".join(asked)},
        ]

    def deviations(self, line: str, reply: Completion) -> Sequence[Deviation]:
        """See `deviations`."""
        return deviations(line, reply)


def _spoken(turn: Turn) -> Iterator[str]:
    """A turn as the customer has it: what the agent told them, and what they said; tools are out of
    their sight.
    """
    exchange = Exchange(legible(AgentTurn(turn.content, turn.tool_calls)), turn.observations)

    for event in event_log([exchange]):
        if event.kind == "said":
            yield f"agent: {event.text[:LONGEST_MESSAGE]}"
        elif event.kind == "heard":
            yield f"you: {event.text}"


USER = StorefrontUser()
