"""Looks for text that a tokenizer reads as structure: turns, calls and thoughts that somebody
else's words would begin or end.
"""

from collections import Counter
from typing import Literal

from synth.schemas.filter import Case, Filter, FilterSettings
from synth.schemas.messages import to_messages
from synth.schemas.verdict import Verdict
from synth.text.control_tokens import Hit, control_tokens, found
from synth.text.transcript.message_texts import TOOLS, Change, with_messages


class ControlTokensConfig(FilterSettings):
    """`action`: what every export of the flow does with rows that hold control tokens, unless it
    says otherwise itself.
    """

    action: Literal["drop", "neutralise", "keep"] = "drop"


async def control_tokens_filter(case: Case, config: ControlTokensConfig) -> Verdict:
    """Drop by the first token and its place, unless exports are to neutralise or keep it; the
    detail counts all of them.
    """
    hits = in_case(case)
    if not hits:
        return Verdict(True, "clean", 0.0)
    token, place = hits[0]
    detail = {
        "tokens": dict(sorted(Counter(f"{token} in {place}" for token, place in hits).items()))
    }
    if config.action == "drop":
        return Verdict(False, f"{token}:{place}", float(len(hits)), detail)
    return Verdict(
        True, "neutralised" if config.action == "neutralise" else "kept", float(len(hits)), detail
    )


def in_case(case: Case) -> list[Hit]:
    """The tokens of a task's goal, a trajectory's messages and its tool schemas."""

    def visit(change: Change) -> None:
        if case.task is not None:
            change("goal", case.task.goal)
        with_messages(to_messages(case.trajectory), change)
        change(TOOLS, case.trajectory.tools)

    return found(visit, control_tokens())


FILTER = Filter(ControlTokensConfig, control_tokens_filter)
